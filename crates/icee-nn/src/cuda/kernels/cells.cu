// Attention among the cells of a row, and its gradient: a thread a cell and head. A row has few cells, whose keys and
// values its threads share through the cache.
//   qkv [rows, 3 * WIDTH] bf16; out [rows, WIDTH] bf16; log_sum and delta [HEADS, rows] f32, as for the other attention
// Grid (spans, heads).

// Some rows of a table: the cell of row r in column c is row `first + c * stride + r` of the batch.
struct CellSpan { int first, rows, columns, stride; };

__device__ __forceinline__ void load_head(const bf16* from, float (&x)[HEAD_WIDTH]) {
#pragma unroll
    for (int i = 0; i < HEAD_WIDTH; i += 8) {
        uint4 v = *(const uint4*)(from + i);
        x[i] = low(v.x), x[i + 1] = high(v.x), x[i + 2] = low(v.y), x[i + 3] = high(v.y);
        x[i + 4] = low(v.z), x[i + 5] = high(v.z), x[i + 6] = low(v.w), x[i + 7] = high(v.w);
    }
}

__device__ __forceinline__ void store_head(bf16* to, const float (&x)[HEAD_WIDTH], float factor) {
#pragma unroll
    for (int i = 0; i < HEAD_WIDTH; i += 8) {
        *(uint4*)(to + i) = make_uint4(
            pack(x[i] * factor, x[i + 1] * factor), pack(x[i + 2] * factor, x[i + 3] * factor),
            pack(x[i + 4] * factor, x[i + 5] * factor), pack(x[i + 6] * factor, x[i + 7] * factor));
    }
}

__device__ __forceinline__ float dot(const float (&a)[HEAD_WIDTH], const float (&b)[HEAD_WIDTH]) {
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < HEAD_WIDTH; i++) sum += a[i] * b[i];
    return sum;
}

__device__ __forceinline__ void add_scaled(float (&to)[HEAD_WIDTH], float weight, const float (&x)[HEAD_WIDTH]) {
#pragma unroll
    for (int i = 0; i < HEAD_WIDTH; i++) to[i] += weight * x[i];
}

// A cell's row in the batch.
__device__ __forceinline__ int cell(const CellSpan& span, int row, int column) {
    return span.first + column * span.stride + row;
}

extern "C" __global__ void __launch_bounds__(128) cells_forward(
    const bf16* __restrict__ qkv, const CellSpan* __restrict__ spans, bf16* __restrict__ out,
    float* __restrict__ log_sum, int total_rows, float factor
) {
    CellSpan span = spans[blockIdx.x];
    int head = blockIdx.y;
    for (int i = threadIdx.x; i < span.rows * span.columns; i += 128) {
        int row = i % span.rows, own = cell(span, row, i / span.rows);
        float query[HEAD_WIDTH], sum[HEAD_WIDTH] = {}, x[HEAD_WIDTH], top = MASKED, total = 0.0f;
        load_head(qkv + (size_t)own * LINE + head * HEAD_WIDTH, query);
        for (int c = 0; c < span.columns; c++) {
            const bf16* at = qkv + (size_t)cell(span, row, c) * LINE + head * HEAD_WIDTH;
            load_head(at + WIDTH, x);
            float score = dot(query, x) * factor, next = fmaxf(top, score);
            float keep = power2(top - next), weight = power2(score - next);
            load_head(at + 2 * WIDTH, x);
            total = total * keep + weight;
#pragma unroll
            for (int d = 0; d < HEAD_WIDTH; d++) sum[d] = sum[d] * keep + weight * x[d];
            top = next;
        }
        store_head(out + (size_t)own * WIDTH + head * HEAD_WIDTH, sum, 1.0f / total);
        log_sum[(size_t)head * total_rows + own] = top + __log2f(total);
    }
}

// Of the queries; also writes each cell's sum of dO * O.
extern "C" __global__ void __launch_bounds__(128) cells_backward_rows(
    const bf16* __restrict__ qkv, const bf16* __restrict__ out, const bf16* __restrict__ dout,
    const CellSpan* __restrict__ spans, const float* __restrict__ log_sum, float* __restrict__ delta,
    bf16* __restrict__ dqkv, int total_rows, float factor, float scale
) {
    CellSpan span = spans[blockIdx.x];
    int head = blockIdx.y;
    for (int i = threadIdx.x; i < span.rows * span.columns; i += 128) {
        int row = i % span.rows, own = cell(span, row, i / span.rows);
        float query[HEAD_WIDTH], back[HEAD_WIDTH], sum[HEAD_WIDTH] = {}, x[HEAD_WIDTH];
        load_head(out + (size_t)own * WIDTH + head * HEAD_WIDTH, x);
        load_head(dout + (size_t)own * WIDTH + head * HEAD_WIDTH, back);
        float own_delta = dot(x, back), own_log = log_sum[(size_t)head * total_rows + own];
        delta[(size_t)head * total_rows + own] = own_delta;
        load_head(qkv + (size_t)own * LINE + head * HEAD_WIDTH, query);
        for (int c = 0; c < span.columns; c++) {
            const bf16* at = qkv + (size_t)cell(span, row, c) * LINE + head * HEAD_WIDTH;
            load_head(at + 2 * WIDTH, x);
            float change = dot(back, x) - own_delta;
            load_head(at + WIDTH, x);
            add_scaled(sum, power2(dot(query, x) * factor - own_log) * change, x);
        }
        store_head(dqkv + (size_t)own * LINE + head * HEAD_WIDTH, sum, scale);
    }
}

// Of keys and values.
extern "C" __global__ void __launch_bounds__(128) cells_backward_keys(
    const bf16* __restrict__ qkv, const bf16* __restrict__ dout, const CellSpan* __restrict__ spans,
    const float* __restrict__ log_sum, const float* __restrict__ delta, bf16* __restrict__ dqkv, int total_rows,
    float factor, float scale
) {
    CellSpan span = spans[blockIdx.x];
    int head = blockIdx.y;
    for (int i = threadIdx.x; i < span.rows * span.columns; i += 128) {
        int row = i % span.rows, own = cell(span, row, i / span.rows);
        float key[HEAD_WIDTH], value[HEAD_WIDTH], dkey[HEAD_WIDTH] = {}, dvalue[HEAD_WIDTH] = {}, x[HEAD_WIDTH];
        const bf16* at = qkv + (size_t)own * LINE + head * HEAD_WIDTH;
        load_head(at + WIDTH, key);
        load_head(at + 2 * WIDTH, value);
        for (int c = 0; c < span.columns; c++) {
            int other = cell(span, row, c);
            size_t line = (size_t)head * total_rows + other;
            float query[HEAD_WIDTH];
            load_head(qkv + (size_t)other * LINE + head * HEAD_WIDTH, query);
            load_head(dout + (size_t)other * WIDTH + head * HEAD_WIDTH, x);
            float weight = power2(dot(query, key) * factor - log_sum[line]);
            add_scaled(dvalue, weight, x);
            add_scaled(dkey, weight * (dot(x, value) - delta[line]), query);
        }
        bf16* to = dqkv + (size_t)own * LINE + head * HEAD_WIDTH;
        store_head(to + WIDTH, dkey, scale);
        store_head(to + 2 * WIDTH, dvalue, 1.0f);
    }
}
