// Global norm, clipping and AdamW over one flat list of weights, without the host.
//   g = scale * gradient with scale = min(1, clip / (norm + 1e-6));  m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2
//   w = keep * w - rate * (m * unbias1) / (sqrt(v * unbias2) + epsilon), keep = 1 - rate * decay where it decays

struct Update { float rate, beta1, beta2, epsilon, keep, unbias1, unbias2, clip; };

// The global norm, and what gradients are multiplied by: -1 where the norm is not finite.
struct Clip { double norm, scale; };

// partial [gridDim.x] = each block's sum of squares; 256 threads.
extern "C" __global__ void square_sums(const float* __restrict__ gradient, double* __restrict__ partial, int count) {
    __shared__ double shared[8];
    double sum = 0.0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        sum += (double)gradient[i] * (double)gradient[i];
    }
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 8; w++) sum += shared[w];
        partial[blockIdx.x] = sum;
    }
}

// From the blocks' sums of squares; one warp.
extern "C" __global__ void clip_norm(const double* partial, int blocks, const Update* update, Clip* clip) {
    double sum = 0.0;
    for (int b = threadIdx.x; b < blocks; b += 32) sum += partial[b];
    sum = sqrt(warp_sum(sum));
    if (threadIdx.x == 0) {
        clip->norm = sum;
        clip->scale = isfinite(sum) ? fmin(1.0, (double)update->clip / (sum + 1e-6)) : -1.0;
    }
}

// Also writes the bf16 copy and clears the gradient for the next step. A norm that is not finite changes nothing else.
extern "C" __global__ void adamw(
    float* __restrict__ weights, bf16* __restrict__ weights16, float* __restrict__ gradient, float* __restrict__ first,
    float* __restrict__ second, const unsigned char* __restrict__ decays, const Update* update,
    const Clip* __restrict__ clip, int count
) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    Update u = *update;
    float scale = (float)clip->scale, g = gradient[i] * scale;
    gradient[i] = 0.0f;
    if (scale < 0.0f) return;
    float m = first[i] * u.beta1 + g * (1.0f - u.beta1);
    float v = second[i] * u.beta2 + g * g * (1.0f - u.beta2);
    float step = m * u.unbias1 / (sqrtf(v * u.unbias2) + u.epsilon);
    float w = weights[i] * (decays[i] ? u.keep : 1.0f) - u.rate * step;
    weights[i] = w;
    weights16[i] = narrow(w);
    first[i] = m;
    second[i] = v;
}

// A bf16 copy, such as that of freshly uploaded weights.
extern "C" __global__ void round_numbers(const float* __restrict__ numbers, bf16* __restrict__ rounded, size_t count) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) rounded[i] = narrow(numbers[i]);
}
