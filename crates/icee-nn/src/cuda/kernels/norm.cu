// LayerNorm with the residual sum before it, and its backward pass. One warp a row; all arithmetic in f32.
//   forward:  s = x + delta;  y = gain * (s - mean) / sqrt(var + 1e-5) + bias
//   backward: with z = (s - mean) * inverse and g = gain * dy:
//             ds += inverse * (g - mean(g) - z * mean(g * z));  dgain = sum dy * z;  dbias = sum dy

// x, sum [rows, WIDTH] f32; delta, normed [rows, WIDTH] bf16; stats [rows] = (mean, inverse deviation).
// Without delta, x itself is normalised and sum is not written.
extern "C" __global__ void norm_forward(
    const float* __restrict__ x, const bf16* __restrict__ delta, float* __restrict__ sum,
    const float* __restrict__ gain, const float* __restrict__ bias, bf16* __restrict__ normed,
    float2* __restrict__ stats, int rows
) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= rows) return;
    size_t at = (size_t)row * WIDTH;
    float s[PER_LANE], scale[PER_LANE], shift[PER_LANE];
    load_row(x + at, s);
    if (delta) {
        float d[PER_LANE];
        load_row(delta + at, d);
#pragma unroll
        for (int i = 0; i < PER_LANE; i++) s[i] += d[i];
        store_row(sum + at, s);
    }
    load_row(gain, scale);
    load_row(bias, shift);
    float total = 0.0f, square = 0.0f;
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) total += s[i];
    float mean = warp_sum(total) / WIDTH;
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) square += (s[i] - mean) * (s[i] - mean);
    float inverse = rsqrtf(warp_sum(square) / WIDTH + 1e-5f);
    if (threadIdx.x % 32 == 0) stats[row] = make_float2(mean, inverse);
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) s[i] = (s[i] - mean) * inverse * scale[i] + shift[i];
    store_row(normed + at, s);
}

// Adds dL/ds to stream (or starts it), and writes it as bf16 too. partial [blocks, 3 * WIDTH] receives each block's
// sums of dgain, dbias and the new stream's columns; the last is the bias gradient of the layer that made delta.
template <typename T>
__device__ __forceinline__ void norm_backward(
    const T* dnormed, const float* x, const float2* stats, const float* gain, float* stream, bf16* stream16,
    float* partial, int rows, int start
) {
    __shared__ float sums[3 * WIDTH];
    float dgain[PER_LANE] = {}, dbias[PER_LANE] = {}, columns[PER_LANE] = {}, scale[PER_LANE];
    load_row(gain, scale);
    int warps = blockDim.x / 32, warp = threadIdx.x / 32;
    for (int row = blockIdx.x * warps + warp; row < rows; row += gridDim.x * warps) {
        size_t at = (size_t)row * WIDTH;
        float z[PER_LANE], dy[PER_LANE], d[PER_LANE] = {};
        load_row(x + at, z);
        load_row(dnormed + at, dy);
        if (!start) load_row(stream + at, d);
        float2 s = stats[row];
        float first = 0.0f, second = 0.0f;
#pragma unroll
        for (int i = 0; i < PER_LANE; i++) {
            z[i] = (z[i] - s.x) * s.y;
            dgain[i] += dy[i] * z[i];
            dbias[i] += dy[i];
            dy[i] *= scale[i];
            first += dy[i];
            second += dy[i] * z[i];
        }
        first = warp_sum(first) / WIDTH;
        second = warp_sum(second) / WIDTH;
#pragma unroll
        for (int i = 0; i < PER_LANE; i++) {
            d[i] += s.y * (dy[i] - first - z[i] * second);
            columns[i] += d[i];
        }
        store_row(stream + at, d);
        store_row(stream16 + at, d);
    }
    // Warp after warp, so that the order of the sum is fixed.
    for (int turn = 0; turn < warps; turn++) {
        if (warp == turn) {
#pragma unroll
            for (int c = 0; c < CHUNKS; c++) {
#pragma unroll
                for (int i = 0; i < RUN; i++) {
                    int at = column(c) + i, own = RUN * c + i;
                    sums[at] = dgain[own] + (turn ? sums[at] : 0.0f);
                    sums[WIDTH + at] = dbias[own] + (turn ? sums[WIDTH + at] : 0.0f);
                    sums[2 * WIDTH + at] = columns[own] + (turn ? sums[2 * WIDTH + at] : 0.0f);
                }
            }
        }
        __syncthreads();
    }
    for (int i = threadIdx.x; i < 3 * WIDTH; i += blockDim.x) partial[(size_t)blockIdx.x * 3 * WIDTH + i] = sums[i];
}

extern "C" __global__ void norm_backward_first(
    const float* dnormed, const float* x, const float2* stats, const float* gain, float* stream, bf16* stream16,
    float* partial, int rows
) {
    norm_backward(dnormed, x, stats, gain, stream, stream16, partial, rows, 1);
}

extern "C" __global__ void norm_backward_next(
    const bf16* dnormed, const float* x, const float2* stats, const float* gain, float* stream, bf16* stream16,
    float* partial, int rows
) {
    norm_backward(dnormed, x, stats, gain, stream, stream16, partial, rows, 0);
}
