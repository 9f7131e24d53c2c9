// Pool heads: every target row scores every candidate of its pool. The first layer is split, so that rows and
// candidates are projected once each; pairs of (row, candidate) are treated chunk by chunk of whole rows.
//   x_0 = row_part + candidate_part;  x_k = GELU(x_{k-1}) W_k + b_k;  score = GELU(x_last) w + b
//   loss = scale * sum_r weight_r * (log sum_c exp score_rc - sum_t p_rt score_rt)

// A row of a chunk: its line among the target rows, its pool's candidates, and its first pair in the chunk.
struct PoolRow { int row, candidate, candidates, pair; };

// Consecutive rows of a chunk that share a pool.
struct PoolSpan { int candidate, candidates, pair, rows; };

// A target row: its first pair of all, how many candidates, and its targets.
struct PoolTarget { u32 pair; int candidates, target, targets; };

// Candidates that a block treats.
constexpr int STRIP = 64;

__device__ __forceinline__ void load8(const float* from, float (&x)[8]) {
    float4 a = *(const float4*)from, b = *(const float4*)(from + 4);
    x[0] = a.x, x[1] = a.y, x[2] = a.z, x[3] = a.w, x[4] = b.x, x[5] = b.y, x[6] = b.z, x[7] = b.w;
}

__device__ __forceinline__ void load8(const bf16* from, float (&x)[8]) {
    uint4 v = *(const uint4*)from;
    x[0] = low(v.x), x[1] = high(v.x), x[2] = low(v.y), x[3] = high(v.y);
    x[4] = low(v.z), x[5] = high(v.z), x[6] = low(v.w), x[7] = high(v.w);
}

__device__ __forceinline__ void store8(bf16* to, const float (&x)[8]) {
    *(uint4*)to = make_uint4(pack(x[0], x[1]), pack(x[2], x[3]), pack(x[4], x[5]), pack(x[6], x[7]));
}

// before [pairs, columns] = row_part + candidate_part; after = GELU(before). Grid (rows, strips).
extern "C" __global__ void pool_pairs(
    const PoolRow* __restrict__ rows, const float* __restrict__ row_part, const float* __restrict__ candidate_part,
    bf16* __restrict__ before, bf16* __restrict__ after, int columns
) {
    PoolRow row = rows[blockIdx.x];
    int across = columns / 8, first = blockIdx.y * STRIP, last = min(first + STRIP, row.candidates);
    for (int i = first * across + threadIdx.x; i < last * across; i += blockDim.x) {
        int candidate = i / across, col = i % across * 8;
        float x[8], y[8];
        load8(row_part + (size_t)row.row * columns + col, x);
        load8(candidate_part + (size_t)(row.candidate + candidate) * columns + col, y);
#pragma unroll
        for (int j = 0; j < 8; j++) x[j] += y[j], y[j] = gelu(x[j]);
        size_t at = (size_t)(row.pair + candidate) * columns + col;
        store8(before + at, x);
        store8(after + at, y);
    }
}

// scores [pairs] = after [pairs, columns] * weight + bias; one warp a pair.
extern "C" __global__ void pool_scores(
    const bf16* __restrict__ after, const float* __restrict__ weight, const float* __restrict__ bias,
    float* __restrict__ scores, int pairs, int columns
) {
    int lane = threadIdx.x % 32, warps = blockDim.x / 32;
    for (int pair = blockIdx.x * warps + threadIdx.x / 32; pair < pairs; pair += gridDim.x * warps) {
        float sum = 0.0f;
        for (int j = 2 * lane; j < columns; j += 64) {
            u32 x = *(const u32*)(after + (size_t)pair * columns + j);
            sum += low(x) * weight[j] + high(x) * weight[j + 1];
        }
        sum = warp_sum(sum);
        if (lane == 0) scores[pair] = sum + bias[0];
    }
}

// Over 256 threads, in a fixed order; all threads get it.
template <typename Combine>
__device__ __forceinline__ float block_combine(float* shared, float x, Combine combine) {
#pragma unroll
    for (int lane = 16; lane > 0; lane /= 2) x = combine(x, __shfl_xor_sync(ALL, x, lane));
    __syncthreads();
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = x;
    __syncthreads();
    x = shared[0];
    for (int w = 1; w < 8; w++) x = combine(x, shared[w]);
    return x;
}

// Scores become their gradients; losses [rows] before `scale`. One block a row; a row's targets are distinct.
extern "C" __global__ void pool_loss(
    const PoolTarget* __restrict__ rows, float* __restrict__ all_scores, const int* __restrict__ targets,
    const float* __restrict__ probabilities, const float* __restrict__ weights, const float* __restrict__ scale,
    double* __restrict__ losses
) {
    __shared__ float shared[8];
    PoolTarget row = rows[blockIdx.x];
    float* scores = all_scores + row.pair;
    auto most = [](float a, float b) { return fmaxf(a, b); };
    auto plus = [](float a, float b) { return a + b; };
    float top = -3.0e38f, sum = 0.0f, hit = 0.0f;
    for (int c = threadIdx.x; c < row.candidates; c += blockDim.x) top = fmaxf(top, scores[c]);
    top = block_combine(shared, top, most);
    for (int c = threadIdx.x; c < row.candidates; c += blockDim.x) sum += __expf(scores[c] - top);
    sum = block_combine(shared, sum, plus);
    for (int t = threadIdx.x; t < row.targets; t += blockDim.x) {
        hit += probabilities[row.target + t] * scores[targets[row.target + t]];
    }
    hit = block_combine(shared, hit, plus);
    float weight = weights[blockIdx.x], factor = weight * scale[0];
    for (int c = threadIdx.x; c < row.candidates; c += blockDim.x) scores[c] = factor * (__expf(scores[c] - top) / sum);
    __syncthreads();
    for (int t = threadIdx.x; t < row.targets; t += blockDim.x) {
        scores[targets[row.target + t]] -= factor * probabilities[row.target + t];
    }
    if (threadIdx.x == 0) losses[blockIdx.x] = (double)weight * (double)(top + logf(sum) - hit);
}

// The backward pass through the last layer and its GELU: gradient [pairs, columns] = dscore * weight * GELU'(before).
// partial [gridDim.x, 2 * columns + 8]: each block's sums of the gradient's columns, of dscore * after (the weight's
// gradient) and of dscore (the bias's); with `add` they are added to what is there. 256 threads.
extern "C" __global__ void pool_last_backward(
    const bf16* __restrict__ before, const bf16* __restrict__ after, const float* __restrict__ dscores,
    const float* __restrict__ weight, bf16* __restrict__ gradient, float* __restrict__ partial, int pairs, int columns,
    int add
) {
    __shared__ float shared[256 * 8];
    int first = blockIdx.y * 8 * blockDim.x;
    int across = min((columns - first) / 8, (int)blockDim.x);
    int down = blockDim.x / across;
    int lane = threadIdx.x % across, line = threadIdx.x / across;
    float sum[8] = {}, product[8] = {}, w[8], total = 0.0f;
    load8(weight + first + lane * 8, w);
    if (line < down) {
        for (int pair = blockIdx.x * down + line; pair < pairs; pair += gridDim.x * down) {
            size_t at = (size_t)pair * columns + first + lane * 8;
            float x[8], y[8], d = dscores[pair];
            load8(before + at, x);
            load8(after + at, y);
            total += d;
#pragma unroll
            for (int j = 0; j < 8; j++) {
                x[j] = d * w[j] * gelu_slope(x[j]);
                sum[j] += x[j];
                product[j] += d * y[j];
            }
            store8(gradient + at, x);
        }
    }
    float* to = partial + (size_t)blockIdx.x * (2 * columns + 8);
    finish_block(shared, sum, to + first, across, down, add);
    __syncthreads();
    finish_block(shared, product, to + columns + first, across, down, add);
    __syncthreads();
    if (lane == 0 && line < down) shared[line] = total;
    __syncthreads();
    if (threadIdx.x == 0 && blockIdx.y == 0) {
        for (int l = 1; l < down; l++) total += shared[l];
        to[2 * columns] = total + (add ? to[2 * columns] : 0.0f);
    }
}

// to [rows, columns] bf16 = the sum of each row's pairs. Grid (rows of the chunk, columns / 2048), 256 threads.
extern "C" __global__ void pool_row_sums(
    const PoolRow* __restrict__ rows, const bf16* __restrict__ gradient, bf16* __restrict__ to, int columns
) {
    __shared__ float shared[256 * 8], total[256 * 8];
    PoolRow row = rows[blockIdx.x];
    int first = blockIdx.y * 8 * blockDim.x;
    int across = min((columns - first) / 8, (int)blockDim.x);
    int down = blockDim.x / across;
    int lane = threadIdx.x % across, line = threadIdx.x / across;
    float sum[8] = {}, x[8];
    if (line < down) {
        for (int c = line; c < row.candidates; c += down) {
            load8(gradient + (size_t)(row.pair + c) * columns + first + lane * 8, x);
#pragma unroll
            for (int j = 0; j < 8; j++) sum[j] += x[j];
        }
    }
    finish_block(shared, sum, total, across, down, 0);
    __syncthreads();
    for (int j = threadIdx.x; j < across * 8; j += blockDim.x) {
        to[(size_t)row.row * columns + first + j] = narrow(total[j]);
    }
}

// to [candidates, columns] f32 += the sum of each candidate's pairs, row after row. Grid (spans, strips).
extern "C" __global__ void pool_candidate_sums(
    const PoolSpan* __restrict__ spans, const bf16* __restrict__ gradient, float* __restrict__ to, int columns
) {
    PoolSpan span = spans[blockIdx.x];
    int across = columns / 8, first = blockIdx.y * STRIP, last = min(first + STRIP, span.candidates);
    for (int i = first * across + threadIdx.x; i < last * across; i += blockDim.x) {
        int candidate = i / across, col = i % across * 8;
        float sum[8], x[8];
        float* line = to + (size_t)(span.candidate + candidate) * columns + col;
        load8(line, sum);
        for (int r = 0; r < span.rows; r++) {
            load8(gradient + ((size_t)span.pair + (size_t)r * span.candidates + candidate) * columns + col, x);
#pragma unroll
            for (int j = 0; j < 8; j++) sum[j] += x[j];
        }
        *(float4*)line = make_float4(sum[0], sum[1], sum[2], sum[3]);
        *(float4*)(line + 4) = make_float4(sum[4], sum[5], sum[6], sum[7]);
    }
}
