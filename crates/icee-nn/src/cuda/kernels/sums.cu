// Sums of columns in two passes, in a fixed order: blocks of rows first, then the blocks.

// Adds the threads' sums of 8 columns, line after line, and writes them to `to`, or adds them with `add`.
__device__ __forceinline__ void finish_block(
    float* shared, const float (&sum)[8], float* to, int across, int down, int add
) {
#pragma unroll
    for (int i = 0; i < 8; i++) shared[i * blockDim.x + threadIdx.x] = sum[i];
    __syncthreads();
    for (int at = threadIdx.x; at < across * 8; at += blockDim.x) {
        float total = 0.0f;
        for (int l = 0; l < down; l++) total += shared[(at % 8) * blockDim.x + l * across + at / 8];
        to[at] = total + (add ? to[at] : 0.0f);
    }
}

// partial [gridDim.x, columns] = column sums of x [rows, columns] over each block's rows; columns is a multiple of 8.
// A thread holds 8 neighbouring columns; blockIdx.y takes 8 * blockDim.x columns each.
extern "C" __global__ void column_sums(const bf16* __restrict__ x, float* __restrict__ partial, int rows, int columns) {
    __shared__ float shared[256 * 8];
    int first = blockIdx.y * 8 * blockDim.x;
    int across = min((columns - first) / 8, (int)blockDim.x);
    int down = blockDim.x / across;
    int lane = threadIdx.x % across, line = threadIdx.x / across;
    float sum[8] = {};
    if (line < down) {
        for (int row = blockIdx.x * down + line; row < rows; row += gridDim.x * down) {
            uint4 v = *(const uint4*)(x + (size_t)row * columns + first + lane * 8);
            sum[0] += low(v.x), sum[1] += high(v.x), sum[2] += low(v.y), sum[3] += high(v.y);
            sum[4] += low(v.z), sum[5] += high(v.z), sum[6] += low(v.w), sum[7] += high(v.w);
        }
    }
    finish_block(shared, sum, partial + (size_t)blockIdx.x * columns + first, across, down, 0);
}

// The backward pass through GELU with the column sums of the result: x [rows, columns] *= GELU'(before); sums as above,
// added to those that are there with `add`.
extern "C" __global__ void gelu_backward_sums(
    bf16* __restrict__ x, const bf16* __restrict__ before, float* __restrict__ partial, int rows, int columns, int add
) {
    __shared__ float shared[256 * 8];
    int first = blockIdx.y * 8 * blockDim.x;
    int across = min((columns - first) / 8, (int)blockDim.x);
    int down = blockDim.x / across;
    int lane = threadIdx.x % across, line = threadIdx.x / across;
    float sum[8] = {};
    if (line < down) {
#pragma unroll 2
        for (int row = blockIdx.x * down + line; row < rows; row += gridDim.x * down) {
            size_t at = (size_t)row * columns + first + lane * 8;
            uint4 v = *(const uint4*)(x + at), w = *(const uint4*)(before + at);
            u32 gradients[4] = {v.x, v.y, v.z, v.w}, inputs[4] = {w.x, w.y, w.z, w.w};
#pragma unroll
            for (int i = 0; i < 4; i++) {
                float a = low(gradients[i]) * gelu_slope(low(inputs[i]));
                float b = high(gradients[i]) * gelu_slope(high(inputs[i]));
                sum[2 * i] += a, sum[2 * i + 1] += b;
                gradients[i] = pack(a, b);
            }
            *(uint4*)(x + at) = make_uint4(gradients[0], gradients[1], gradients[2], gradients[3]);
        }
    }
    finish_block(shared, sum, partial + (size_t)blockIdx.x * columns + first, across, down, add);
}

// One sum: blocks lines of `stride` numbers at `from`; its first `columns` are added to the gradient at `to`.
struct SumJob { int from, stride, blocks, columns, to; };

// Grid (jobs, columns / 32); 32 x 8 threads.
extern "C" __global__ void finish_sums(const SumJob* jobs, const float* partial, float* gradient) {
    __shared__ float shared[8][32];
    SumJob job = jobs[blockIdx.x];
    int column = blockIdx.y * 32 + threadIdx.x;
    float sum = 0.0f;
    if (column < job.columns) {
        for (int b = threadIdx.y; b < job.blocks; b += 8) sum += partial[job.from + (size_t)b * job.stride + column];
    }
    shared[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && column < job.columns) {
        for (int i = 1; i < 8; i++) sum += shared[i][threadIdx.x];
        gradient[job.to + column] += sum;
    }
}
