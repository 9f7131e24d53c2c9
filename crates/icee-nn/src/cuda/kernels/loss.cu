// Weighted softmax cross-entropy of rows of logits, with its gradient.
//   loss = scale * sum_r weight_r * (log sum_c exp logit_rc - logit_r,class)
//   dlogit_rc = scale * weight_r * (softmax_rc - [c = class])

// logits [rows, stride] f32, dlogits [rows, stride] bf16 (columns from `classes` on become zero); one warp a row.
// partial [gridDim.x] receives each block's share of the loss, before `scale`.
extern "C" __global__ void class_loss(
    const float* __restrict__ logits, bf16* __restrict__ dlogits, const int* __restrict__ targets,
    const float* __restrict__ weights, const float* __restrict__ scale, double* __restrict__ partial, int rows,
    int classes, int stride
) {
    __shared__ double shared[8];
    int warps = blockDim.x / 32, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    double loss = 0.0;
    for (int row = blockIdx.x * warps + warp; row < rows; row += gridDim.x * warps) {
        const float* x = logits + (size_t)row * stride;
        float top = -3.0e38f, sum = 0.0f;
        for (int c = lane; c < classes; c += 32) top = fmaxf(top, x[c]);
#pragma unroll
        for (int l = 16; l > 0; l /= 2) top = fmaxf(top, __shfl_xor_sync(ALL, top, l));
        for (int c = lane; c < classes; c += 32) sum += __expf(x[c] - top);
        sum = warp_sum(sum);
        float factor = weights[row] * scale[0];
        int target = targets[row];
        for (int c = lane; c < stride; c += 32) {
            float p = c < classes ? __expf(x[c] - top) / sum - (c == target ? 1.0f : 0.0f) : 0.0f;
            dlogits[(size_t)row * stride + c] = narrow(factor * p);
        }
        loss += (double)weights[row] * (double)(top + logf(sum) - x[target]);
    }
    if (lane == 0) shared[warp] = loss;
    __syncthreads();
    if (threadIdx.x == 0) {
        double total = 0.0;
        for (int w = 0; w < warps; w++) total += shared[w];
        partial[blockIdx.x] = total;
    }
}

// loss = scale * sum of the blocks' shares; one warp.
extern "C" __global__ void finish_loss(const double* partial, int blocks, const float* scale, double* loss) {
    double sum = 0.0;
    for (int b = threadIdx.x; b < blocks; b += 32) sum += partial[b];
    sum = warp_sum(sum);
    if (threadIdx.x == 0) *loss = sum * (double)scale[0];
}
