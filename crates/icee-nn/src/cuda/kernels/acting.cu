// What agents ask of a return head and of an outcome head, computed where the logits are. One warp a row; f64, because
// the tilt multiplies logarithms by up to a million. The same rules as on the host.

// The logarithm of zero.
#define NOTHING (-__longlong_as_double(0x7ff0000000000000LL))

// Over the warp.
__device__ __forceinline__ double warp_max(double x) {
#pragma unroll
    for (int lane = 16; lane > 0; lane /= 2) x = fmax(x, __shfl_xor_sync(ALL, x, lane));
    return x;
}

// How many of p's first entries are left when the upper tail whose mass is below guard * total is dropped.
__device__ __forceinline__ int believed(const double* p, int count, double guard) {
    double total = 0.0, tail = 0.0;
    for (int c = threadIdx.x % 32; c < count; c += 32) total += p[c];
    total = warp_sum(total);
    int kept = count;
    while (kept > 1 && tail + p[kept - 1] < guard * total) tail += p[--kept];
    return kept;
}

// The largest ln p + tilt of the first `kept`.
__device__ __forceinline__ double top_tilted(const double* p, const double* tilt, int kept) {
    double top = NOTHING;
    for (int c = threadIdx.x % 32; c < kept; c += 32) top = fmax(top, log(p[c]) + tilt[c]);
    return warp_max(top);
}

__device__ __forceinline__ double sum_tilted(const double* p, const double* tilt, int kept, double top) {
    double sum = 0.0;
    for (int c = threadIdx.x % 32; c < kept; c += 32) sum += exp(log(p[c]) + tilt[c] - top);
    return warp_sum(sum);
}

// slice: the slice of classes to draw from, or -1 where it is drawn too; one number between 0 and 1 for each draw.
struct Draw { double slice_uniform, uniform; int slice, unused; };

// What was drawn.
struct Drawn { int slice, bin; };

// logits [rows, stride]: of `classes` classes, in slices of `bins`. chosen [rows]; scratch [rows, classes].
extern "C" __global__ void draw_returns(
    const float* __restrict__ logits, int stride, int classes, int bins, const double* __restrict__ tilt, double guard,
    const Draw* __restrict__ draws, double* __restrict__ scratch, Drawn* __restrict__ chosen, int rows
) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    const float* x = logits + (size_t)row * stride;
    double* p = scratch + (size_t)row * classes;
    float top = -3.0e38f;
    for (int c = lane; c < classes; c += 32) top = fmaxf(top, x[c]);
#pragma unroll
    for (int l = 16; l > 0; l /= 2) top = fmaxf(top, __shfl_xor_sync(ALL, top, l));
    double sum = 0.0;
    for (int c = lane; c < classes; c += 32) sum += p[c] = exp((double)x[c] - (double)top);
    sum = warp_sum(sum);
    for (int c = lane; c < classes; c += 32) p[c] /= sum;
    __syncwarp();
    Draw draw = draws[row];
    int slice = draw.slice;
    if (slice < 0) {
        double mass = 0.0, yes;
        for (int c = lane; c < bins; c += 32) mass += p[bins + c];
        mass = warp_sum(mass);
        if (mass < guard) {
            yes = 0.0;
        } else if (1.0 - mass < guard) {
            yes = 1.0;
        } else {
            int kept_no = believed(p, bins, guard), kept_yes = believed(p + bins, bins, guard);
            double most = fmax(top_tilted(p, tilt, kept_no), top_tilted(p + bins, tilt, kept_yes));
            double no = sum_tilted(p, tilt, kept_no, most);
            yes = sum_tilted(p + bins, tilt, kept_yes, most);
            yes = no + yes > 0.0 ? yes / (no + yes) : 1.0;
        }
        slice = 1.0 - yes > 0.0 && (draw.slice_uniform < 1.0 - yes || yes <= 0.0) ? 0 : 1;
    }
    p += slice * bins;
    int kept = believed(p, bins, guard);
    double most = top_tilted(p, tilt, kept);
    // Where nothing is believed, all is equally likely.
    bool flat = !isfinite(most);
    if (flat) kept = bins;
    sum = 0.0;
    __syncwarp();
    for (int c = lane; c < kept; c += 32) sum += p[c] = flat ? 1.0 : exp(log(p[c]) + tilt[c] - most);
    sum = warp_sum(sum);
    __syncwarp();
    if (lane == 0) {
        double left = draw.uniform * sum;
        int bin = 0;
        for (int c = 0; c < kept; c++) {
            if (p[c] > 0.0) {
                bin = c;
                if (left < p[c]) break;
                left -= p[c];
            }
        }
        chosen[row] = Drawn{slice, bin};
    }
}

// What is wanted of an outcome: classes `from` to `to` - 1.
struct Wanted { int from, to; };

// out [rows, values] = p(wanted | value)^(1 / temperature), normalised; logits [rows, values, stride] of `classes`.
// Without `wanted` the logits [rows, stride] of `values` classes are those of the values themselves.
extern "C" __global__ void posterior(
    const float* __restrict__ logits, int stride, int classes, const Wanted* __restrict__ wanted, double temperature,
    float* __restrict__ out, int rows, int values
) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    // Lane v holds the logarithm of value v, of v + 32, and so on: at most 32 * 8 values.
    double own[8], most = NOTHING, total = 0.0;
    for (int i = 0; i < 8; i++) own[i] = NOTHING;
    for (int v = 0; v < values; v++) {
        double log_likelihood;
        if (wanted) {
            const float* x = logits + ((size_t)row * values + v) * stride;
            float top = -3.0e38f;
            for (int c = lane; c < classes; c += 32) top = fmaxf(top, x[c]);
#pragma unroll
            for (int l = 16; l > 0; l /= 2) top = fmaxf(top, __shfl_xor_sync(ALL, top, l));
            double all = 0.0, part = 0.0;
            for (int c = lane; c < classes; c += 32) {
                double e = exp((double)x[c] - (double)top);
                all += e;
                if (c >= wanted[row].from && c < wanted[row].to) part += e;
            }
            log_likelihood = log(warp_sum(part) / warp_sum(all));
        } else {
            log_likelihood = logits[(size_t)row * stride + v];
        }
#pragma unroll
        for (int i = 0; i < 8; i++) {
            if (v == i * 32 + lane) own[i] = log_likelihood / temperature;
        }
    }
#pragma unroll
    for (int i = 0; i < 8; i++) most = fmax(most, own[i]);
    most = warp_max(most);
    bool flat = !isfinite(most);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        own[i] = i * 32 + lane >= values ? 0.0 : flat ? 1.0 : exp(own[i] - most);
        total += own[i];
    }
    total = warp_sum(total);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        if (i * 32 + lane < values) out[(size_t)row * values + i * 32 + lane] = (float)(own[i] / total);
    }
}
