// Embeddings of fields and conditions: a row is the sum of its fields' vectors.
//   categorical: table[value];  vector: bias + sum_i value_i * weight[i]
// Their gradients are one product for all fields together, dW = F^T dY, where row r of the feature matrix F holds
// a one for each category, the reals of each vector, and a one for each bias. It is exact but for bf16 inputs, and
// its order of summation does not depend on how often a value occurs.

// `size` is -1 for a category, else the number of reals (0: a bias alone). Offsets: `values` in words of the batch, `weight` in the
// weights ([size, columns], the bias line behind it if has_bias), `feature` the field's first column of F.
struct Field { int size, has_bias, values, weight, feature; };

// Four neighbouring columns at once, so that a field's description is read a quarter as often; columns is a multiple of 8.
__device__ __forceinline__ float4 embedding(
    const Field* fields, int count, const int* batch, const float* weights, int row, int col, int columns
) {
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    auto add = [&](float value, const float* weight) {
        float4 w = *(const float4*)weight;
        sum.x += value * w.x, sum.y += value * w.y, sum.z += value * w.z, sum.w += value * w.w;
    };
    for (int f = 0; f < count; f++) {
        Field field = fields[f];
        const float* weight = weights + field.weight + col;
        if (field.size < 0) {
            add(1.0f, weight + (size_t)batch[field.values + row] * columns);
        } else {
            const float* values = (const float*)batch + field.values + (size_t)row * field.size;
            for (int i = 0; i < field.size; i++) add(values[i], weight + (size_t)i * columns);
            if (field.has_bias) add(1.0f, weight + (size_t)field.size * columns);
        }
    }
    return sum;
}

// out [rows, columns] f32 = sum of embeddings, or += where `add`; a thread has four columns.
extern "C" __global__ void embed_rows(
    const Field* __restrict__ fields, int count, const int* __restrict__ batch, const float* __restrict__ weights,
    float* __restrict__ out, int rows, int columns, int add
) {
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    int quads = columns / 4, row = at / quads, col = at % quads * 4;
    if (row >= rows) return;
    float4 sum = embedding(fields, count, batch, weights, row, col, columns);
    float4* to = (float4*)(out + (size_t)row * columns + col);
    if (add) {
        float4 old = *to;
        sum.x += old.x, sum.y += old.y, sum.z += old.z, sum.w += old.w;
    }
    *to = sum;
}

// A hidden layer: before [rows, columns] bf16 = sum of embeddings, or += where `add`; after = GELU(before).
extern "C" __global__ void embed_gelu(
    const Field* __restrict__ fields, int count, const int* __restrict__ batch, const float* __restrict__ weights,
    bf16* __restrict__ before, bf16* __restrict__ after, int rows, int columns, int add
) {
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    int quads = columns / 4, row = at / quads, col = at % quads * 4;
    if (row >= rows) return;
    float4 sum = embedding(fields, count, batch, weights, row, col, columns);
    uint2* to = (uint2*)(before + (size_t)row * columns + col);
    if (add) {
        uint2 old = *to;
        sum.x += low(old.x), sum.y += high(old.x), sum.z += low(old.y), sum.w += high(old.y);
    }
    *to = make_uint2(pack(sum.x, sum.y), pack(sum.z, sum.w));
    uint2 active = make_uint2(pack(gelu(sum.x), gelu(sum.y)), pack(gelu(sum.z), gelu(sum.w)));
    *(uint2*)(after + (size_t)row * columns + col) = active;
}

// Writes each field's entries into the zeroed feature matrix [rows, columns]; one thread a row and field.
extern "C" __global__ void write_features(
    const Field* fields, int count, const int* batch, bf16* features, int rows, int columns
) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    int row = at / count;
    if (row >= rows) return;
    Field field = fields[at % count];
    bf16* line = features + (size_t)row * columns + field.feature;
    if (field.size < 0) {
        line[batch[field.values + row]] = 0x3f80;
        return;
    }
    const float* values = (const float*)batch + field.values + (size_t)row * field.size;
    for (int i = 0; i < field.size; i++) line[i] = narrow(values[i]);
    if (field.has_bias) line[field.size] = 0x3f80;
}

// to [count, WIDTH] = the named rows of from, zero for -1; one warp a row.
extern "C" __global__ void gather_rows(const bf16* from, const int* rows, bf16* to, int count) {
    int i = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (i >= count) return;
    float x[PER_LANE] = {};
    if (rows[i] >= 0) load_row(from + (size_t)rows[i] * WIDTH, x);
    store_row(to + (size_t)i * WIDTH, x);
}

// The named rows (distinct, but for -1) of to += from; one warp a row.
extern "C" __global__ void scatter_rows(const bf16* from, const int* rows, float* to, int count) {
    int i = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (i >= count || rows[i] < 0) return;
    float x[PER_LANE], sum[PER_LANE];
    float* line = to + (size_t)rows[i] * WIDTH;
    load_row(from + (size_t)i * WIDTH, x);
    load_row(line, sum);
#pragma unroll
    for (int j = 0; j < PER_LANE; j++) sum[j] += x[j];
    store_row(line, sum);
}
