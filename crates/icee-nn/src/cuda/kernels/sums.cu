// Sums of columns in two passes, in a fixed order: blocks of rows first, then the blocks.

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
#pragma unroll
    for (int i = 0; i < 8; i++) shared[i * blockDim.x + threadIdx.x] = sum[i];
    __syncthreads();
    for (int at = threadIdx.x; at < across * 8; at += blockDim.x) {
        float total = 0.0f;
        for (int l = 0; l < down; l++) total += shared[(at % 8) * blockDim.x + l * across + at / 8];
        partial[(size_t)blockIdx.x * columns + first + at] = total;
    }
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
