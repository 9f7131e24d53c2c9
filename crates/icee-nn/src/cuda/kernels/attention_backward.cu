// Attention, backward, in two passes that both compute the probabilities anew: one over rows for the queries'
// gradients, one over keys for theirs and the values'. No sum crosses blocks, so results do not depend on timing.
//   p = 2^(s * factor - log_sum);  ds = p * (dout v^T - delta) with delta = sum_d dout * out
//   dq = ds k / sqrt(d);  dk = ds^T q / sqrt(d);  dv = p^T dout
//   qkv, dqkv [rows, 3 * WIDTH] bf16; out, dout [rows, WIDTH] bf16; log_sum, delta [HEADS, rows] f32

// Grid (row tiles, heads). Writes the queries' part of dqkv, and delta for the second pass.
extern "C" __global__ void __launch_bounds__(THREADS) attention_backward_rows(
    const bf16* __restrict__ qkv, const bf16* __restrict__ out, const bf16* __restrict__ dout,
    const RowTile* __restrict__ tiles, const float* __restrict__ log_sum, float* __restrict__ delta,
    bf16* __restrict__ dqkv, int total_rows, float factor, float scale
) {
    __shared__ __align__(16) bf16 keys[2][TILE * PITCH], values[2][TILE * PITCH];
    RowTile tile = tiles[blockIdx.x];
    int head = blockIdx.y, warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    int own = tile.row + warp * 16, valid = tile.rows - warp * 16;
    const bf16* first_key = qkv + (size_t)tile.key * LINE + WIDTH + head * HEAD_WIDTH;
    int count = (tile.keys + TILE - 1) / TILE;
    if (count > 0) {
        copy_tile(keys[0], first_key, LINE, tile.keys);
        copy_tile(values[0], first_key + WIDTH, LINE, tile.keys);
    }
    commit_copies();
    u32 query[DEPTH][4], gradient[DEPTH][4];
    float log[2] = {}, shift[2] = {};
    load_rows(query, qkv + (size_t)own * LINE + head * HEAD_WIDTH, LINE, valid);
    load_rows(gradient, dout + (size_t)own * WIDTH + head * HEAD_WIDTH, WIDTH, valid);
    {
        u32 result[DEPTH][4];
        load_rows(result, out + (size_t)own * WIDTH + head * HEAD_WIDTH, WIDTH, valid);
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                shift[i % 2] += low(result[k][i]) * low(gradient[k][i]) + high(result[k][i]) * high(gradient[k][i]);
            }
        }
    }
#pragma unroll
    for (int half = 0; half < 2; half++) {
        shift[half] = row_sum(shift[half]);
        int row = g + half * 8;
        if (row < valid) {
            size_t at = (size_t)head * total_rows + own + row;
            log[half] = log_sum[at];
            if (t == 0) delta[at] = shift[half];
        }
    }
    float sum[PANELS][4] = {};
    for (int k = 0; k < count; k++) {
        if (k + 1 < count) {
            const bf16* next = first_key + (size_t)(k + 1) * TILE * LINE;
            copy_tile(keys[(k + 1) % 2], next, LINE, tile.keys - (k + 1) * TILE);
            copy_tile(values[(k + 1) % 2], next + WIDTH, LINE, tile.keys - (k + 1) * TILE);
        }
        commit_copies();
        wait_copies<1>();
        __syncthreads();
        float s[KEY_PANELS][4] = {}, dp[KEY_PANELS][4] = {};
        score(s, query, keys[k % 2]);
        score(dp, gradient, values[k % 2]);
#pragma unroll
        for (int n = 0; n < KEY_PANELS; n++) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                s[n][i] = power2(s[n][i] * factor - log[i / 2]) * (dp[n][i] - shift[i / 2]);
            }
        }
        if ((k + 1) * TILE > min(tile.seen + warp * 16 * tile.step, tile.keys)) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                int row = warp * 16 + g + (i / 2) * 8;
                int seen = min(tile.seen + row * tile.step, tile.keys) - k * TILE - 2 * t - i % 2;
#pragma unroll
                for (int n = 0; n < KEY_PANELS; n++) {
                    if (n * 8 >= seen) s[n][i] = 0.0f;
                }
            }
        }
        combine(sum, s, keys[k % 2]);
        __syncthreads();
    }
    store_rows(dqkv + (size_t)own * LINE + head * HEAD_WIDTH, LINE, valid, sum, scale, scale);
}

// Grid (key tiles, heads). Writes the keys' and values' parts of dqkv; here a warp's 16 lines are keys, and the
// columns of a tile are rows that see them.
extern "C" __global__ void __launch_bounds__(THREADS) attention_backward_keys(
    const bf16* __restrict__ qkv, const bf16* __restrict__ dout, const KeyTile* __restrict__ tiles,
    const float* __restrict__ log_sum, const float* __restrict__ delta, bf16* __restrict__ dqkv, int total_rows,
    float factor, float scale
) {
    __shared__ __align__(16) bf16 queries[2][TILE * PITCH], gradients[2][TILE * PITCH];
    __shared__ __align__(8) float logs[2][TILE], shifts[2][TILE];
    KeyTile tile = tiles[blockIdx.x];
    int head = blockIdx.y, warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    int own = tile.key + warp * 16, valid = tile.keys - warp * 16;
    // Where causal, rows before the tile's own place see none of its keys.
    int skipped = tile.causal ? tile.place : 0;
    int history = (tile.rows - skipped + TILE - 1) / TILE, count = history + (tile.queries + TILE - 1) / TILE;
    auto fetch = [&](int step, int stage) {
        int done = step < history ? skipped + step * TILE : (step - history) * TILE;
        int row = (step < history ? tile.row : tile.query) + done;
        int rows = (step < history ? tile.rows : tile.queries) - done;
        copy_tile(queries[stage], qkv + (size_t)row * LINE + head * HEAD_WIDTH, LINE, rows);
        copy_tile(gradients[stage], dout + (size_t)row * WIDTH + head * HEAD_WIDTH, WIDTH, rows);
        if (threadIdx.x < TILE) {
            size_t at = (size_t)head * total_rows + row + threadIdx.x;
            bool inside = (int)threadIdx.x < rows;
            logs[stage][threadIdx.x] = inside ? log_sum[at] : 0.0f;
            shifts[stage][threadIdx.x] = inside ? delta[at] : 0.0f;
        }
    };
    if (count > 0) fetch(0, 0);
    commit_copies();
    u32 key[DEPTH][4], value[DEPTH][4];
    load_rows(key, qkv + (size_t)own * LINE + WIDTH + head * HEAD_WIDTH, LINE, valid);
    load_rows(value, qkv + (size_t)own * LINE + 2 * WIDTH + head * HEAD_WIDTH, LINE, valid);
    float dkey[PANELS][4] = {}, dvalue[PANELS][4] = {};
    for (int step = 0; step < count; step++) {
        int stage = step % 2;
        if (step + 1 < count) fetch(step + 1, 1 - stage);
        commit_copies();
        wait_copies<1>();
        __syncthreads();
        float s[KEY_PANELS][4] = {}, dp[KEY_PANELS][4] = {};
        score(s, key, queries[stage]);
        bool diagonal = tile.causal && step == 0 && history > 0;
#pragma unroll
        for (int n = 0; n < KEY_PANELS; n++) {
            float2 log = *(float2*)&logs[stage][n * 8 + 2 * t];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                s[n][i] = power2(s[n][i] * factor - (i % 2 ? log.y : log.x));
                if (diagonal && n * 8 + 2 * t + i % 2 < warp * 16 + g + (i / 2) * 8) s[n][i] = 0.0f;
            }
        }
        combine(dvalue, s, gradients[stage]);
        score(dp, value, gradients[stage]);
#pragma unroll
        for (int n = 0; n < KEY_PANELS; n++) {
            float2 shift = *(float2*)&shifts[stage][n * 8 + 2 * t];
#pragma unroll
            for (int i = 0; i < 4; i++) s[n][i] *= dp[n][i] - (i % 2 ? shift.y : shift.x);
        }
        combine(dkey, s, queries[stage]);
        __syncthreads();
    }
    bf16* to = dqkv + (size_t)own * LINE + WIDTH + head * HEAD_WIDTH;
    store_rows(to, LINE, valid, dkey, scale, scale);
    store_rows(to + WIDTH, LINE, valid, dvalue, 1.0f, 1.0f);
}
