// What all kernels share. The host defines WIDTH (of the residual stream) and HEAD_WIDTH (16, 32 or 64).
// No CUDA header is needed: bf16 numbers travel as raw bits and are converted here.

typedef unsigned short bf16;
typedef unsigned int u32;

constexpr u32 ALL = 0xffffffffu;

// Two floats as two bf16, the first in the lower half.
__device__ __forceinline__ u32 pack(float low, float high) {
    u32 both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}
__device__ __forceinline__ float low(u32 both) { return __uint_as_float(both << 16); }
__device__ __forceinline__ float high(u32 both) { return __uint_as_float(both & 0xffff0000u); }
__device__ __forceinline__ float widen(bf16 x) { return __uint_as_float((u32)x << 16); }
__device__ __forceinline__ bf16 narrow(float x) { return (bf16)pack(x, 0.0f); }

__device__ __forceinline__ float power2(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ float warp_sum(float x) {
#pragma unroll
    for (int lane = 16; lane > 0; lane /= 2) x += __shfl_xor_sync(ALL, x, lane);
    return x;
}

__device__ __forceinline__ double warp_sum(double x) {
#pragma unroll
    for (int lane = 16; lane > 0; lane /= 2) x += __shfl_xor_sync(ALL, x, lane);
    return x;
}

// GELU in its tanh form: x * sigmoid(2u) with u = sqrt(2/pi) (x + 0.044715 x^3).
__device__ __forceinline__ float gelu(float x) {
    float u = 1.5957691216f * (x + 0.044715f * x * x * x);
    return x / (1.0f + __expf(-u));
}

// Its derivative: with p = sigmoid(2u), p + x p (1 - p) d(2u)/dx.
__device__ __forceinline__ float gelu_slope(float x) {
    float p = 1.0f / (1.0f + __expf(-1.5957691216f * (x + 0.044715f * x * x * x)));
    return p + x * p * (1.0f - p) * 1.5957691216f * (1.0f + 0.134145f * x * x);
}

// A warp holds one row of WIDTH numbers: each lane has CHUNKS runs of RUN neighbours, 32 * RUN apart.
constexpr int RUN = WIDTH % 128 == 0 ? 4 : WIDTH % 64 == 0 ? 2 : 1;
constexpr int CHUNKS = WIDTH / (32 * RUN);
constexpr int PER_LANE = RUN * CHUNKS;

__device__ __forceinline__ int column(int chunk) { return (chunk * 32 + (threadIdx.x & 31)) * RUN; }

__device__ __forceinline__ void load_row(const float* from, float (&x)[PER_LANE]) {
#pragma unroll
    for (int c = 0; c < CHUNKS; c++) {
        const float* at = from + column(c);
        if constexpr (RUN == 4) {
            float4 v = *(const float4*)at;
            x[4 * c] = v.x, x[4 * c + 1] = v.y, x[4 * c + 2] = v.z, x[4 * c + 3] = v.w;
        } else {
#pragma unroll
            for (int i = 0; i < RUN; i++) x[RUN * c + i] = at[i];
        }
    }
}

__device__ __forceinline__ void load_row(const bf16* from, float (&x)[PER_LANE]) {
#pragma unroll
    for (int c = 0; c < CHUNKS; c++) {
        const bf16* at = from + column(c);
        if constexpr (RUN == 4) {
            uint2 v = *(const uint2*)at;
            x[4 * c] = low(v.x), x[4 * c + 1] = high(v.x), x[4 * c + 2] = low(v.y), x[4 * c + 3] = high(v.y);
        } else {
#pragma unroll
            for (int i = 0; i < RUN; i++) x[RUN * c + i] = widen(at[i]);
        }
    }
}

__device__ __forceinline__ void store_row(float* to, const float (&x)[PER_LANE]) {
#pragma unroll
    for (int c = 0; c < CHUNKS; c++) {
        float* at = to + column(c);
        if constexpr (RUN == 4) {
            *(float4*)at = make_float4(x[4 * c], x[4 * c + 1], x[4 * c + 2], x[4 * c + 3]);
        } else {
#pragma unroll
            for (int i = 0; i < RUN; i++) at[i] = x[RUN * c + i];
        }
    }
}

__device__ __forceinline__ void store_row(bf16* to, const float (&x)[PER_LANE]) {
#pragma unroll
    for (int c = 0; c < CHUNKS; c++) {
        bf16* at = to + column(c);
        if constexpr (RUN == 4) {
            *(uint2*)at = make_uint2(pack(x[4 * c], x[4 * c + 1]), pack(x[4 * c + 2], x[4 * c + 3]));
        } else {
#pragma unroll
            for (int i = 0; i < RUN; i++) at[i] = narrow(x[RUN * c + i]);
        }
    }
}
