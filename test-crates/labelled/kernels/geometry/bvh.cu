// Ray tracing: traversal, packets, materials.

struct Ray {
    float3 origin, direction;
    float t_min, t_max;
};

struct Node {
    float3 low;
    int left; // negative: a leaf
    float3 high;
    int right;
};

static __device__ __forceinline__ float component(const float3 &v, int axis) { return (&v.x)[axis]; }

// Closest hit, with the far child on the stack.
extern "C" __global__ void closest_hit(const Ray *rays, const Node *nodes, float *depth, int count)
{
    const int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= count) return;
    const Ray ray = rays[id];
    const float3 inverse = make_float3(1.0f / ray.direction.x, 1.0f / ray.direction.y, 1.0f / ray.direction.z);

    struct Entry { int node; float near; };
    Entry todo[32]; //@ object todo: dynamic_index
    int pending = 0;
    Entry current = {0, ray.t_min};
    float best = ray.t_max;
    for (;;) {
        if (current.near < best) {
            const Node node = nodes[current.node];
            if (node.left < 0) {
                best = fminf(best, current.near);
            } else {
                const float a = (node.low.x - ray.origin.x) * inverse.x;
                const float b = (node.high.y - ray.origin.y) * inverse.y;
                const bool swap = b < a;
                todo[pending++] = Entry{swap ? node.left : node.right, fmaxf(a, b)}; //@ access todo
                current = Entry{swap ? node.right : node.left, fminf(a, b)};
                continue;
            }
        }
        if (pending == 0) break;
        current = todo[--pending]; //@ access todo
    }
    depth[id] = best;
}

// Marching through a grid: the axis of the next step is found by comparison, and indexes three vectors.
extern "C" __global__ void march_grid(const Ray *rays, const unsigned char *occupied, int3 cells, int *hit, int count)
{
    const int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= count) return;
    const Ray ray = rays[id];
    float t_next[3]; //@ object t_next: dynamic_index
    float t_step[3]; //@ object t_step: dynamic_index
    int cell[3];     //@ object cell: dynamic_index
    int step[3];     //@ object step: dynamic_index
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        const float o = component(ray.origin, axis), d = component(ray.direction, axis);
        cell[axis] = (int)floorf(o);
        step[axis] = d < 0 ? -1 : 1;
        t_step[axis] = fabsf(1.0f / d);
        t_next[axis] = ((d < 0 ? cell[axis] : cell[axis] + 1) - o) / d;
    }
    int found = -1;
    for (int steps = 0; steps < 512; ++steps) {
        const int axis = t_next[0] < t_next[1] ? (t_next[0] < t_next[2] ? 0 : 2) : (t_next[1] < t_next[2] ? 1 : 2);
        cell[axis] += step[axis]; //@ access cell //@ access step
        t_next[axis] += t_step[axis]; //@ access t_next //@ access t_step
        if ((unsigned)cell[0] >= (unsigned)cells.x || (unsigned)cell[1] >= (unsigned)cells.y || (unsigned)cell[2] >= (unsigned)cells.z) break;
        const int at = (cell[2] * cells.y + cell[1]) * cells.x + cell[0];
        if (occupied[at]) { found = at; break; }
    }
    hit[id] = found;
}

struct Hit { float t; float3 normal; int material; };

__device__ __noinline__ bool intersect_sphere(const Ray *ray, float4 sphere, Hit *hit)
{
    const float3 to = make_float3(ray->origin.x - sphere.x, ray->origin.y - sphere.y, ray->origin.z - sphere.z);
    const float b = to.x * ray->direction.x + to.y * ray->direction.y + to.z * ray->direction.z;
    const float c = to.x * to.x + to.y * to.y + to.z * to.z - sphere.w * sphere.w;
    const float d = b * b - c;
    if (d < 0.0f) return false;
    const float t = -b - sqrtf(d);
    if (t < ray->t_min || t > hit->t) return false;
    hit->t = t;
    hit->normal = make_float3(to.x + t * ray->direction.x, to.y + t * ray->direction.y, to.z + t * ray->direction.z);
    return true;
}

// Ray and hit are handed over by pointer.
extern "C" __global__ void shade_spheres(const Ray *rays, const float4 *spheres, int sphere_count, float *shade, int count)
{
    const int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= count) return;
    Ray ray = rays[id]; //@ object ray: address_escape
    Hit hit; //@ object hit: address_escape
    hit.t = ray.t_max;
    hit.normal = make_float3(0, 0, 0);
    hit.material = -1;
    for (int s = 0; s < sphere_count; ++s)
        if (intersect_sphere(&ray, spheres[s], &hit)) hit.material = s; //@ access ray //@ access hit
    shade[id] = hit.material < 0 ? 0.0f : hit.normal.z / hit.t;
}

// Shadow rays: the same test, inlined, and nothing has an address any more.
extern "C" __global__ void shadow_spheres(const Ray *rays, const float4 *spheres, int sphere_count, int *occluded, int count) //@ clean
{
    const int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= count) return;
    Ray ray = rays[id];
    auto blocked = [](const Ray *r, float4 sphere) {
        const float x = r->origin.x - sphere.x, y = r->origin.y - sphere.y, z = r->origin.z - sphere.z;
        const float b = x * r->direction.x + y * r->direction.y + z * r->direction.z;
        return b * b > x * x + y * y + z * z - sphere.w * sphere.w;
    };
    bool any = false;
    for (int s = 0; s < sphere_count && !any; ++s) any = blocked(&ray, spheres[s]);
    occluded[id] = any;
}

// Clipping a polygon against six planes; the number of corners changes with every plane.
extern "C" __global__ void clip_polygons(const float3 *triangles, const float4 *planes, float *area, int count)
{
    const int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= count) return;
    float3 polygon[10]; //@ object polygon: rolled_loop | dynamic_index
    float3 clipped[10]; //@ object clipped: dynamic_index | rolled_loop
    int corners = 3;
    for (int c = 0; c < 3; ++c) polygon[c] = triangles[3 * id + c];
    for (int p = 0; p < 6; ++p) {
        const float4 plane = planes[p];
        int kept = 0;
        for (int c = 0; c < corners; ++c) {
            const float3 a = polygon[c]; //@ access polygon
            const float3 b = polygon[c + 1 == corners ? 0 : c + 1]; //@ access polygon
            const float da = plane.x * a.x + plane.y * a.y + plane.z * a.z + plane.w;
            const float db = plane.x * b.x + plane.y * b.y + plane.z * b.z + plane.w;
            if (da >= 0.0f) clipped[kept++] = a; //@ access clipped
            if ((da >= 0.0f) != (db >= 0.0f)) {
                const float t = da / (da - db);
                clipped[kept++] = make_float3(a.x + t * (b.x - a.x), a.y + t * (b.y - a.y), a.z + t * (b.z - a.z)); //@ access clipped
            }
        }
        corners = kept;
        for (int c = 0; c < corners; ++c) polygon[c] = clipped[c]; //@ access polygon //@ access clipped
    }
    float twice = 0.0f;
    for (int c = 0; c < corners; ++c) {
        const float3 a = polygon[c], b = polygon[(c + 1) % corners]; //@ access polygon
        twice += a.x * b.y - a.y * b.x;
    }
    area[id] = 0.5f * twice;
}
