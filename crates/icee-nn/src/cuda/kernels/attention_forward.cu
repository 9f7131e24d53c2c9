// Attention, forward: out = softmax(q k^T / sqrt(d)) v over the keys each row sees, tile by tile with a running
// maximum, so that no score ever reaches memory. Also writes, for the backward pass, each row's log2 of the sum of
// 2^(score * log2 e).
//   qkv [rows, 3 * WIDTH] bf16: queries, keys, values; out [rows, WIDTH] bf16; log_sum [HEADS, rows] f32, or none
//   keys, with the values WIDTH behind them: of the same rows, or lines of a cache, `line` numbers apart
// Grid (row tiles, heads).

constexpr float MASKED = -1.0e30f;

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) attention_forward(
    const bf16* __restrict__ qkv, const bf16* __restrict__ all_keys, int line, const RowTile* __restrict__ tiles,
    bf16* __restrict__ out, float* __restrict__ log_sum, int total_rows, float factor
) {
    __shared__ __align__(16) bf16 keys[STAGES][TILE * PITCH], values[STAGES][TILE * PITCH];
    RowTile tile = tiles[blockIdx.x];
    int head = blockIdx.y, start = threadIdx.x / 32 * 16 * ROW_PIECES, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    int own = tile.row + start, valid = tile.rows - start;
    // How many keys the warp's first and last row see.
    int least = min(tile.seen + start * tile.step, tile.keys);
    int most = min(tile.seen + (start + 16 * ROW_PIECES - 1) * tile.step, tile.keys);
    // A warp without rows computes nothing.
    if (valid <= 0) most = 0;
    const bf16* first_key = all_keys + (size_t)tile.key * line + head * HEAD_WIDTH;
    u32 query[ROW_PIECES][DEPTH][4];
    load_rows(query, qkv + (size_t)own * LINE + head * HEAD_WIDTH, LINE, valid);
    float sum[ROW_PIECES][PANELS][4] = {}, top[ROW_PIECES][2], total[ROW_PIECES][2] = {};
#pragma unroll
    for (int m = 0; m < ROW_PIECES; m++) top[m][0] = top[m][1] = MASKED;
    int count = (tile.keys + TILE - 1) / TILE;
    auto fetch = [&](int k) {
        if (k < count) {
            const bf16* from = first_key + (size_t)k * TILE * line;
            copy_tile(keys[k % STAGES], from, line, tile.keys - k * TILE);
            copy_tile(values[k % STAGES], from + WIDTH, line, tile.keys - k * TILE);
        }
        commit_copies();
    };
#pragma unroll
    for (int k = 0; k < STAGES - 1; k++) fetch(k);
    for (int k = 0; k < count; k++) {
        wait_copies<STAGES - 2>();
        // Everyone's copies are there, and everyone is done with the tile that the next one overwrites.
        __syncthreads();
        fetch(k + STAGES - 1);
        if (k * TILE < most) {
            float s[ROW_PIECES][TILE / 8][4];
            score(s, query, keys[k % STAGES]);
            if ((k + 1) * TILE > least) {
#pragma unroll
                for (int m = 0; m < ROW_PIECES; m++) {
#pragma unroll
                    for (int i = 0; i < 4; i++) {
                        int row = start + m * 16 + g + (i / 2) * 8;
                        int seen = min(tile.seen + row * tile.step, tile.keys) - k * TILE - 2 * t - i % 2;
#pragma unroll
                        for (int n = 0; n < TILE / 8; n++) {
                            if (n * 8 >= seen) s[m][n][i] = MASKED;
                        }
                    }
                }
            }
#pragma unroll
            for (int m = 0; m < ROW_PIECES; m++) {
#pragma unroll
                for (int half = 0; half < 2; half++) {
                    float best = top[m][half];
#pragma unroll
                    for (int n = 0; n < TILE / 8; n++) {
                        best = fmaxf(best, fmaxf(s[m][n][2 * half], s[m][n][2 * half + 1]));
                    }
                    best = row_max(best);
                    float shrink = power2((top[m][half] - best) * factor), base = best * factor, part = 0.0f;
                    top[m][half] = best;
#pragma unroll
                    for (int n = 0; n < TILE / 8; n++) {
                        s[m][n][2 * half] = power2(s[m][n][2 * half] * factor - base);
                        s[m][n][2 * half + 1] = power2(s[m][n][2 * half + 1] * factor - base);
                        part += s[m][n][2 * half] + s[m][n][2 * half + 1];
                    }
                    total[m][half] = total[m][half] * shrink + part;
#pragma unroll
                    for (int n = 0; n < PANELS; n++) {
                        sum[m][n][2 * half] *= shrink, sum[m][n][2 * half + 1] *= shrink;
                    }
                }
            }
            combine(sum, s, values[k % STAGES]);
        }
    }
#pragma unroll
    for (int m = 0; m < ROW_PIECES; m++) {
        float inverse[2];
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float all = row_sum(total[m][half]);
            inverse[half] = all > 0.0f ? 1.0f / all : 0.0f;
            int row = m * 16 + g + half * 8;
            if (log_sum && t == 0 && row < valid) {
                float log = all > 0.0f ? top[m][half] * factor + log2f(all) : 0.0f;
                log_sum[(size_t)head * total_rows + own + row] = log;
            }
        }
        bf16* to = out + (size_t)(own + m * 16) * WIDTH + head * HEAD_WIDTH;
        store_rows(to, WIDTH, valid - m * 16, sum[m], inverse[0], inverse[1]);
    }
}
