// Attention, forward: out = softmax(q k^T / sqrt(d)) v over the keys each row sees, tile by tile with a running
// maximum, so that no score ever reaches memory. Also writes, for the way back, each row's log2 of the sum of
// 2^(score * log2 e).
//   qkv [rows, 3 * WIDTH] bf16: queries, keys, values; out [rows, WIDTH] bf16; log_sum [HEADS, rows] f32
// Grid (row tiles, heads).

constexpr float MASKED = -1.0e30f;

extern "C" __global__ void __launch_bounds__(THREADS) attention_forward(
    const bf16* __restrict__ qkv, const RowTile* __restrict__ tiles, bf16* __restrict__ out,
    float* __restrict__ log_sum, int total_rows, float factor
) {
    __shared__ __align__(16) bf16 keys[2][TILE * PITCH], values[2][TILE * PITCH];
    RowTile tile = tiles[blockIdx.x];
    int head = blockIdx.y, warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    int own = tile.row + warp * 16, valid = tile.rows - warp * 16;
    const bf16* first_key = qkv + (size_t)tile.key * LINE + WIDTH + head * HEAD_WIDTH;
    u32 query[DEPTH][4];
    load_rows(query, qkv + (size_t)own * LINE + head * HEAD_WIDTH, LINE, valid);
    float sum[PANELS][4] = {}, top[2] = {MASKED, MASKED}, total[2] = {};
    int count = (tile.keys + TILE - 1) / TILE;
    if (count > 0) {
        copy_tile(keys[0], first_key, LINE, tile.keys);
        copy_tile(values[0], first_key + WIDTH, LINE, tile.keys);
    }
    commit_copies();
    for (int k = 0; k < count; k++) {
        if (k + 1 < count) {
            const bf16* next = first_key + (size_t)(k + 1) * TILE * LINE;
            copy_tile(keys[(k + 1) % 2], next, LINE, tile.keys - (k + 1) * TILE);
            copy_tile(values[(k + 1) % 2], next + WIDTH, LINE, tile.keys - (k + 1) * TILE);
        }
        commit_copies();
        wait_copies<1>();
        __syncthreads();
        float s[KEY_PANELS][4] = {};
        score(s, query, keys[k % 2]);
        if ((k + 1) * TILE > min(tile.seen + warp * 16 * tile.step, tile.keys)) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                int row = warp * 16 + g + (i / 2) * 8;
                int seen = min(tile.seen + row * tile.step, tile.keys) - k * TILE - 2 * t - i % 2;
#pragma unroll
                for (int n = 0; n < KEY_PANELS; n++) {
                    if (n * 8 >= seen) s[n][i] = MASKED;
                }
            }
        }
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float best = top[half];
#pragma unroll
            for (int n = 0; n < KEY_PANELS; n++) best = fmaxf(best, fmaxf(s[n][2 * half], s[n][2 * half + 1]));
            best = row_max(best);
            float shrink = power2((top[half] - best) * factor), base = best * factor, part = 0.0f;
            top[half] = best;
#pragma unroll
            for (int n = 0; n < KEY_PANELS; n++) {
                s[n][2 * half] = power2(s[n][2 * half] * factor - base);
                s[n][2 * half + 1] = power2(s[n][2 * half + 1] * factor - base);
                part += s[n][2 * half] + s[n][2 * half + 1];
            }
            total[half] = total[half] * shrink + part;
#pragma unroll
            for (int n = 0; n < PANELS; n++) sum[n][2 * half] *= shrink, sum[n][2 * half + 1] *= shrink;
        }
        combine(sum, s, values[k % 2]);
        __syncthreads();
    }
    float inverse[2];
#pragma unroll
    for (int half = 0; half < 2; half++) {
        total[half] = row_sum(total[half]);
        inverse[half] = total[half] > 0.0f ? 1.0f / total[half] : 0.0f;
        int row = g + half * 8;
        if (t == 0 && row < valid) {
            float log = total[half] > 0.0f ? top[half] * factor + log2f(total[half]) : 0.0f;
            log_sum[(size_t)head * total_rows + own + row] = log;
        }
    }
    store_rows(out + (size_t)own * WIDTH + head * HEAD_WIDTH, WIDTH, valid, sum, inverse[0], inverse[1]);
}
