// Attention, backward, in two passes that both compute the probabilities anew: one over rows for the queries'
// gradients, one over keys for theirs and the values'. No sum crosses blocks, so results do not depend on timing.
//   p = 2^(s * factor - log_sum);  ds = p * (dout v^T - delta) with delta = sum_d dout * out
//   dq = ds k / sqrt(d);  dk = ds^T q / sqrt(d);  dv = p^T dout
//   qkv, dqkv [rows, 3 * WIDTH] bf16; out, dout [rows, WIDTH] bf16; log_sum, delta [HEADS, rows] f32

// Keys (or rows) that pass at once: a quarter of a tile, for the sake of registers.
constexpr int PART = 16;

// Grid (row tiles, heads). Writes the queries' part of dqkv, and delta for the second pass.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) attention_backward_rows(
    const bf16* __restrict__ qkv, const bf16* __restrict__ out, const bf16* __restrict__ dout,
    const RowTile* __restrict__ tiles, const float* __restrict__ log_sum, float* __restrict__ delta,
    bf16* __restrict__ dqkv, int total_rows, float factor, float scale
) {
    __shared__ __align__(16) bf16 keys[STAGES][TILE * PITCH], values[STAGES][TILE * PITCH];
    RowTile tile = tiles[blockIdx.x];
    int head = blockIdx.y, start = threadIdx.x / 32 * 16 * ROW_PIECES, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    int own = tile.row + start, valid = tile.rows - start;
    // How many keys the warp's first and last row see.
    int least = min(tile.seen + start * tile.step, tile.keys);
    int most = min(tile.seen + (start + 16 * ROW_PIECES - 1) * tile.step, tile.keys);
    const bf16* first_key = qkv + (size_t)tile.key * LINE + WIDTH + head * HEAD_WIDTH;
    int count = (tile.keys + TILE - 1) / TILE;
    auto fetch = [&](int k) {
        if (k < count) {
            const bf16* from = first_key + (size_t)k * TILE * LINE;
            copy_tile(keys[k % STAGES], from, LINE, tile.keys - k * TILE);
            copy_tile(values[k % STAGES], from + WIDTH, LINE, tile.keys - k * TILE);
        }
        commit_copies();
    };
#pragma unroll
    for (int k = 0; k < STAGES - 1; k++) fetch(k);
    u32 query[ROW_PIECES][DEPTH][4], gradient[ROW_PIECES][DEPTH][4];
    float log[ROW_PIECES][2] = {}, shift[ROW_PIECES][2] = {};
    load_rows(gradient, dout + (size_t)own * WIDTH + head * HEAD_WIDTH, WIDTH, valid);
    load_rows(query, out + (size_t)own * WIDTH + head * HEAD_WIDTH, WIDTH, valid);
#pragma unroll
    for (int m = 0; m < ROW_PIECES; m++) {
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                u32 x = query[m][k][i], y = gradient[m][k][i];
                shift[m][i % 2] += low(x) * low(y) + high(x) * high(y);
            }
        }
#pragma unroll
        for (int half = 0; half < 2; half++) {
            shift[m][half] = row_sum(shift[m][half]);
            int row = m * 16 + g + half * 8;
            if (row < valid) {
                size_t at = (size_t)head * total_rows + own + row;
                log[m][half] = log_sum[at];
                if (t == 0) delta[at] = shift[m][half];
            }
        }
    }
    load_rows(query, qkv + (size_t)own * LINE + head * HEAD_WIDTH, LINE, valid);
    float sum[ROW_PIECES][PANELS][4] = {};
    for (int k = 0; k < count; k++) {
        wait_copies<STAGES - 2>();
        // Everyone's copies are there, and everyone is done with the tile that the next one overwrites.
        __syncthreads();
        fetch(k + STAGES - 1);
        for (int part = 0; part < TILE; part += PART) {
            if (k * TILE + part >= most) break;
            const bf16* key_lines = keys[k % STAGES] + part * PITCH;
            float s[ROW_PIECES][PART / 8][4], dp[ROW_PIECES][PART / 8][4];
            score(s, query, key_lines);
            score(dp, gradient, values[k % STAGES] + part * PITCH);
#pragma unroll
            for (int m = 0; m < ROW_PIECES; m++) {
#pragma unroll
                for (int n = 0; n < PART / 8; n++) {
#pragma unroll
                    for (int i = 0; i < 4; i++) {
                        float p = power2(s[m][n][i] * factor - log[m][i / 2]);
                        s[m][n][i] = p * (dp[m][n][i] - shift[m][i / 2]);
                    }
                }
            }
            if (k * TILE + part + PART > least) {
#pragma unroll
                for (int m = 0; m < ROW_PIECES; m++) {
#pragma unroll
                    for (int i = 0; i < 4; i++) {
                        int row = start + m * 16 + g + (i / 2) * 8;
                        int seen = min(tile.seen + row * tile.step, tile.keys) - k * TILE - part - 2 * t - i % 2;
#pragma unroll
                        for (int n = 0; n < PART / 8; n++) {
                            if (n * 8 >= seen) s[m][n][i] = 0.0f;
                        }
                    }
                }
            }
            combine(sum, s, key_lines);
        }
    }
#pragma unroll
    for (int m = 0; m < ROW_PIECES; m++) {
        bf16* to = dqkv + (size_t)(own + m * 16) * LINE + head * HEAD_WIDTH;
        store_rows(to, LINE, valid - m * 16, sum[m], scale, scale);
    }
}

// Grid (key tiles, heads). Writes the keys' and values' parts of dqkv; here a warp's lines are keys, and the
// lines of a tile are rows that see them.
extern "C" __global__ void __launch_bounds__(THREADS) attention_backward_keys(
    const bf16* __restrict__ qkv, const bf16* __restrict__ dout, const KeyTile* __restrict__ tiles,
    const float* __restrict__ log_sum, const float* __restrict__ delta, bf16* __restrict__ dqkv, int total_rows,
    float factor, float scale
) {
    __shared__ __align__(16) bf16 queries[STAGES][TILE * PITCH], gradients[STAGES][TILE * PITCH];
    __shared__ __align__(8) float logs[STAGES][TILE], shifts[STAGES][TILE];
    KeyTile tile = tiles[blockIdx.x];
    int head = blockIdx.y, start = threadIdx.x / 32 * 16 * KEY_PIECES, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    int own = tile.key + start, valid = tile.keys - start;
    // Where causal, rows before the tile's own place see none of its keys.
    int skipped = tile.causal ? tile.place : 0;
    int history = (tile.rows - skipped + TILE - 1) / TILE, count = history + (tile.queries + TILE - 1) / TILE;
    auto fetch = [&](int step) {
        if (step >= count) return commit_copies();
        int stage = step % STAGES;
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
        commit_copies();
    };
#pragma unroll
    for (int step = 0; step < STAGES - 1; step++) fetch(step);
    u32 key[KEY_PIECES][DEPTH][4], value[KEY_PIECES][DEPTH][4];
    load_rows(key, qkv + (size_t)own * LINE + WIDTH + head * HEAD_WIDTH, LINE, valid);
    load_rows(value, qkv + (size_t)own * LINE + 2 * WIDTH + head * HEAD_WIDTH, LINE, valid);
    float dkey[KEY_PIECES][PANELS][4] = {}, dvalue[KEY_PIECES][PANELS][4] = {};
    for (int step = 0; step < count; step++) {
        int stage = step % STAGES;
        wait_copies<STAGES - 2>();
        __syncthreads();
        fetch(step + STAGES - 1);
        for (int part = 0; part < TILE; part += PART) {
            // Counted from the tile's first key; rows before a key do not see it.
            int row = step * TILE + part;
            bool causal = tile.causal && step < history;
            if (causal && row + PART <= start) continue;
            const bf16* query_lines = queries[stage] + part * PITCH;
            const bf16* gradient_lines = gradients[stage] + part * PITCH;
            float s[KEY_PIECES][PART / 8][4], dp[KEY_PIECES][PART / 8][4];
            score(s, key, query_lines);
#pragma unroll
            for (int n = 0; n < PART / 8; n++) {
                float2 log = *(float2*)&logs[stage][part + n * 8 + 2 * t];
#pragma unroll
                for (int m = 0; m < KEY_PIECES; m++) {
#pragma unroll
                    for (int i = 0; i < 4; i++) {
                        s[m][n][i] = power2(s[m][n][i] * factor - (i % 2 ? log.y : log.x));
                    }
                }
            }
            if (causal && row < start + 16 * KEY_PIECES) {
#pragma unroll
                for (int m = 0; m < KEY_PIECES; m++) {
#pragma unroll
                    for (int n = 0; n < PART / 8; n++) {
#pragma unroll
                        for (int i = 0; i < 4; i++) {
                            bool hidden = row + n * 8 + 2 * t + i % 2 < start + m * 16 + g + (i / 2) * 8;
                            if (hidden) s[m][n][i] = 0.0f;
                        }
                    }
                }
            }
            combine(dvalue, s, gradient_lines);
            score(dp, value, gradient_lines);
#pragma unroll
            for (int n = 0; n < PART / 8; n++) {
                float2 shift = *(float2*)&shifts[stage][part + n * 8 + 2 * t];
#pragma unroll
                for (int m = 0; m < KEY_PIECES; m++) {
#pragma unroll
                    for (int i = 0; i < 4; i++) s[m][n][i] *= dp[m][n][i] - (i % 2 ? shift.y : shift.x);
                }
            }
            combine(dkey, s, query_lines);
        }
    }
#pragma unroll
    for (int m = 0; m < KEY_PIECES; m++) {
        bf16* to = dqkv + (size_t)(own + m * 16) * LINE + WIDTH + head * HEAD_WIDTH;
        store_rows(to, LINE, valid - m * 16, dkey[m], scale, scale);
        store_rows(to + WIDTH, LINE, valid - m * 16, dvalue[m], 1.0f, 1.0f);
    }
}
