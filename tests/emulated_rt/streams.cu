// Streams, events and their modelled times, callbacks, capture, explicit graphs, updates, conditional-free control flow.
#include "check.h"

#include <cuda_runtime.h>

__global__ void add(int *p, int v)
{
    p[threadIdx.x] += v;
}

static void streams_and_events()
{
    cudaStream_t a, b;
    cudaEvent_t start, end, untimed;
    int least, greatest, priority, *p;
    unsigned flags;
    float ms = -1;
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    OK(cudaStreamCreateWithPriority(&a, cudaStreamNonBlocking, greatest));
    OK(cudaStreamCreate(&b));
    OK(cudaStreamGetPriority(a, &priority));
    EQ(priority, greatest);
    OK(cudaStreamGetFlags(a, &flags));
    EQ(flags, (unsigned)cudaStreamNonBlocking);
    OK(cudaEventCreate(&start));
    OK(cudaEventCreate(&end));
    OK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    OK(cudaMalloc(&p, 128));
    RT_ERR(cudaEventElapsedTime(&ms, start, end), cudaErrorInvalidResourceHandle);
    OK(cudaEventRecord(start, a));
    add<<<1, 32, 0, a>>>(p, 1);
    OK(cudaEventRecord(untimed, a));
    OK(cudaStreamWaitEvent(b, untimed, 0));
    add<<<1, 32, 0, b>>>(p, 1);
    OK(cudaEventRecord(end, b));
    OK(cudaEventSynchronize(end));
    OK(cudaEventQuery(end));
    OK(cudaEventElapsedTime(&ms, start, end));
    EQ(ms > 0 && ms < 1, true);
    RT_ERR(cudaEventElapsedTime(&ms, start, untimed), cudaErrorInvalidResourceHandle);
    int order[3] = {0, 0, 0};
    OK(cudaLaunchHostFunc(a, [](void *v) { ((int *)v)[0] = 1; }, order));
    OK(cudaStreamAddCallback(b, [](cudaStream_t, cudaError_t e, void *v) { ((int *)v)[1] = e == cudaSuccess; }, order, 0));
    OK(cudaStreamSynchronize(a));
    OK(cudaStreamQuery(b));
    EQ(order[0] + order[1], 2);
    OK(cudaStreamDestroy(a));
    RT_ERR(cudaStreamSynchronize(a), cudaErrorInvalidResourceHandle);
    RT_ERR(cudaStreamDestroy(a), cudaErrorInvalidResourceHandle);
    OK(cudaEventDestroy(start));
    RT_ERR(cudaEventRecord(start, b), cudaErrorInvalidResourceHandle);
    OK(cudaStreamDestroy(b));
    OK(cudaEventDestroy(end));
    OK(cudaEventDestroy(untimed));
    OK(cudaFree(p));
}

// Two streams captured into one graph, launched twice, then again with another argument.
static void capture()
{
    cudaStream_t a, b;
    cudaEvent_t fork, join;
    cudaGraph_t graph, second;
    cudaGraphExec_t exec;
    int *p, h[32], calls = 0;
    size_t n = 0;
    OK(cudaStreamCreate(&a));
    OK(cudaStreamCreate(&b));
    OK(cudaEventCreate(&fork));
    OK(cudaEventCreate(&join));
    OK(cudaMalloc(&p, sizeof h));
    OK(cudaMemset(p, 0xff, sizeof h));
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    OK(cudaMemsetAsync(p, 0, sizeof h, a));
    OK(cudaEventRecord(fork, a));
    OK(cudaStreamWaitEvent(b, fork, 0));
    add<<<1, 16, 0, a>>>(p, 5);
    add<<<1, 16, 0, b>>>(p + 16, 7);
    OK(cudaEventRecord(join, b));
    OK(cudaStreamWaitEvent(a, join, 0));
    OK(cudaMemcpyAsync(h, p, sizeof h, cudaMemcpyDeviceToHost, a));
    OK(cudaLaunchHostFunc(a, [](void *v) { ++*(int *)v; }, &calls));
    cudaStreamCaptureStatus status;
    OK(cudaStreamIsCapturing(b, &status));
    EQ(status, cudaStreamCaptureStatusActive);
    OK(cudaStreamEndCapture(a, &graph));
    EQ(calls, 0);
    OK(cudaGraphGetNodes(graph, NULL, &n));
    EQ(n, 5u);
    OK(cudaGraphGetEdges(graph, NULL, NULL, NULL, &n));
    EQ(n, 5u);
    OK(cudaGraphGetRootNodes(graph, NULL, &n));
    EQ(n, 1u);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, a));
    OK(cudaGraphLaunch(exec, b));
    OK(cudaDeviceSynchronize());
    EQ(calls, 2);
    EQ(h[0], 5);
    EQ(h[31], 7);
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed));
    OK(cudaMemsetAsync(p, 0, sizeof h, a));
    OK(cudaEventRecord(fork, a));
    OK(cudaStreamWaitEvent(b, fork, 0));
    add<<<1, 16, 0, a>>>(p, 50);
    add<<<1, 16, 0, b>>>(p + 16, 70);
    OK(cudaEventRecord(join, b));
    OK(cudaStreamWaitEvent(a, join, 0));
    OK(cudaMemcpyAsync(h, p, sizeof h, cudaMemcpyDeviceToHost, a));
    OK(cudaLaunchHostFunc(a, [](void *v) { ++*(int *)v; }, &calls));
    OK(cudaStreamEndCapture(a, &second));
    cudaGraphExecUpdateResultInfo info;
    OK(cudaGraphExecUpdate(exec, second, &info));
    OK(cudaGraphLaunch(exec, a));
    EQ(h[0], 50);
    EQ(h[31], 70);
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed));
    add<<<1, 16, 0, a>>>(p, 50);
    OK(cudaStreamEndCapture(a, &graph));
    RT_ERR(cudaGraphExecUpdate(exec, graph, &info), cudaErrorGraphExecUpdateFailure);
    EQ(info.result, cudaGraphExecUpdateErrorTopologyChanged);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(second));
    RT_ERR(cudaGraphDestroy(second), cudaErrorInvalidValue);
    RT_ERR(cudaGraphLaunch(exec, a), cudaErrorInvalidValue);
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
}

static void capture_errors()
{
    cudaStream_t a, b;
    cudaEvent_t e;
    cudaGraph_t graph;
    void *p;
    OK(cudaStreamCreate(&a));
    OK(cudaStreamCreate(&b));
    OK(cudaEventCreate(&e));
    RT_ERR(cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);
    RT_ERR(cudaStreamEndCapture(a, &graph), cudaErrorIllegalState);
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    RT_ERR(cudaMalloc(&p, 16), cudaErrorStreamCaptureUnsupported);
    RT_ERR(cudaStreamEndCapture(a, &graph), cudaErrorStreamCaptureInvalidated);
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    RT_ERR(cudaStreamSynchronize(a), cudaErrorStreamCaptureUnsupported);
    RT_ERR(cudaStreamEndCapture(a, &graph), cudaErrorStreamCaptureInvalidated);
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed));
    OK(cudaMalloc(&p, 16));
    RT_ERR(cudaMemsetAsync(p, 0, 16, 0), cudaErrorStreamCaptureImplicit);
    RT_ERR(cudaStreamEndCapture(a, &graph), cudaErrorStreamCaptureInvalidated);
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed));
    OK(cudaEventRecord(e, a));
    OK(cudaStreamWaitEvent(b, e, 0));
    OK(cudaMemsetAsync(p, 0, 16, b));
    RT_ERR(cudaEventSynchronize(e), cudaErrorCapturedEvent);
    RT_ERR(cudaStreamEndCapture(b, &graph), cudaErrorStreamCaptureUnmatched);
    RT_ERR(cudaStreamEndCapture(a, &graph), cudaErrorStreamCaptureInvalidated);
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed));
    OK(cudaEventRecord(e, a));
    OK(cudaStreamWaitEvent(b, e, 0));
    OK(cudaMemsetAsync(p, 0, 16, b));
    RT_ERR(cudaStreamEndCapture(a, &graph), cudaErrorStreamCaptureUnjoined);
    OK(cudaMemsetAsync(p, 0, 16, 0));
    // a stream that joined may go before the end; into a graph of ours, the result may be NULL
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaStreamBeginCaptureToGraph(a, graph, NULL, NULL, 0, cudaStreamCaptureModeRelaxed));
    OK(cudaEventRecord(e, a));
    OK(cudaStreamWaitEvent(b, e, 0));
    OK(cudaMemsetAsync(p, 0, 16, b));
    OK(cudaEventRecord(e, b));
    OK(cudaStreamWaitEvent(a, e, 0));
    OK(cudaStreamDestroy(b));
    OK(cudaStreamEndCapture(a, NULL));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(p));
    OK(cudaStreamDestroy(a));
}

// A graph made by hand: memset -> kernel -> child(kernel) -> copy, with an edge against the order of making.
static void explicit_graph()
{
    cudaGraph_t graph, child, clone;
    cudaGraphNode_t set, k1, c, copy, inner, host;
    cudaGraphExec_t exec;
    int *p, h[32], v = 3, w = 100;
    OK(cudaMalloc(&p, sizeof h));
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphCreate(&child, 0));
    void *args[] = {&p, &v}, *more[] = {&p, &w};
    cudaKernelNodeParams kp = {};
    kp.func = (void *)add, kp.gridDim = dim3(1), kp.blockDim = dim3(32), kp.kernelParams = args;
    cudaMemsetParams mp = {};
    mp.dst = p, mp.value = 1, mp.elementSize = 4, mp.width = 32, mp.height = 1;
    OK(cudaGraphAddKernelNode(&k1, graph, NULL, 0, &kp));
    OK(cudaGraphAddMemsetNode(&set, graph, NULL, 0, &mp));
    OK(cudaGraphAddDependencies(graph, &set, &k1, NULL, 1));
    RT_ERR(cudaGraphAddDependencies(graph, &set, &k1, NULL, 1), cudaErrorInvalidValue);
    kp.kernelParams = more;
    OK(cudaGraphAddKernelNode(&inner, child, NULL, 0, &kp));
    v = w = 0; // arguments were copied
    OK(cudaGraphAddChildGraphNode(&c, graph, &k1, 1, child));
    OK(cudaGraphAddMemcpyNode1D(&copy, graph, &c, 1, h, p, sizeof h, cudaMemcpyDeviceToHost));
    int calls = 0;
    cudaHostNodeParams hp = {[](void *d) { ++*(int *)d; }, &calls};
    OK(cudaGraphAddHostNode(&host, graph, &copy, 1, &hp));
    OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, 0));
    EQ(h[31], 104);
    EQ(calls, 1);
    v = 1000;
    kp.kernelParams = args;
    OK(cudaGraphExecKernelNodeSetParams(exec, k1, &kp));
    OK(cudaGraphLaunch(exec, 0));
    EQ(h[31], 1101);
    OK(cudaGraphNodeSetEnabled(exec, k1, 0));
    OK(cudaGraphLaunch(exec, 0));
    EQ(h[31], 101);
    cudaGraphNodeType type;
    OK(cudaGraphNodeGetType(set, &type));
    EQ(type, cudaGraphNodeTypeMemset);
    cudaKernelNodeParams got;
    OK(cudaGraphKernelNodeGetParams(k1, &got));
    EQ(*(int *)got.kernelParams[1], 3);
    OK(cudaGraphClone(&clone, graph));
    cudaGraphNode_t found;
    OK(cudaGraphNodeFindInClone(&found, copy, clone));
    OK(cudaGraphNodeGetType(found, &type));
    EQ(type, cudaGraphNodeTypeMemcpy);
    OK(cudaGraphAddDependencies(graph, &host, &set, NULL, 1)); // a circle
    RT_ERR(cudaGraphInstantiate(&exec, graph, 0), cudaErrorInvalidValue);
    OK(cudaGraphDestroyNode(host));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(clone));
    OK(cudaGraphDestroy(child));
    OK(cudaGraphLaunch(exec, 0));
    EQ(h[31], 104);
    RT_ERR(cudaGraphAddKernelNode(&k1, graph, NULL, 0, &kp), cudaErrorInvalidValue);
    OK(cudaGraphExecDestroy(exec));
}

static void memory_nodes()
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t alloc, set, copy, free_node;
    int h[8] = {0};
    OK(cudaGraphCreate(&graph, 0));
    cudaMemAllocNodeParams ap = {};
    ap.bytesize = sizeof h;
    ap.poolProps.allocType = cudaMemAllocationTypePinned;
    ap.poolProps.location.type = cudaMemLocationTypeDevice;
    OK(cudaGraphAddMemAllocNode(&alloc, graph, NULL, 0, &ap));
    cudaMemsetParams mp = {};
    mp.dst = ap.dptr, mp.value = 6, mp.elementSize = 4, mp.width = 8, mp.height = 1;
    OK(cudaGraphAddMemsetNode(&set, graph, &alloc, 1, &mp));
    OK(cudaGraphAddMemcpyNode1D(&copy, graph, &set, 1, h, ap.dptr, sizeof h, cudaMemcpyDefault));
    OK(cudaGraphAddMemFreeNode(&free_node, graph, &copy, 1, ap.dptr));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaGraphLaunch(exec, 0));
    EQ(h[7], 6);
    // what a captured graph allocates and does not free is the program's to free, and the next launch has it again
    cudaStream_t s;
    cudaGraph_t captured;
    cudaGraphExec_t again;
    int *left;
    OK(cudaStreamCreate(&s));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaMallocAsync(&left, 128, s));
    OK(cudaMemsetAsync(left, 0, 128, s));
    add<<<1, 32, 0, s>>>(left, 9);
    OK(cudaStreamEndCapture(s, &captured));
    OK(cudaGraphInstantiate(&again, captured, 0));
    for (int i = 0; i < 2; i++) {
        OK(cudaGraphLaunch(again, s));
        OK(cudaMemcpy(h, left, sizeof h, cudaMemcpyDeviceToHost));
        EQ(h[7], 9);
        OK(i ? cudaFreeAsync(left, s) : cudaFree(left));
    }
    OK(cudaGraphExecDestroy(again));
    OK(cudaGraphDestroy(captured));
    OK(cudaStreamDestroy(s));
    int destroyed = 0;
    cudaUserObject_t object;
    OK(cudaUserObjectCreate(&object, &destroyed, [](void *d) { ++*(int *)d; }, 1, cudaUserObjectNoDestructorSync));
    OK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
    OK(cudaGraphDestroy(graph));
    EQ(destroyed, 1);
    OK(cudaGraphExecDestroy(exec));
}

__global__ void count_down(int *p, cudaGraphConditionalHandle handle)
{
    *p -= 1;
    cudaGraphSetConditional(handle, *p > 0);
}

// while (p[0]) { p[1] += 1; p[0]--; }, launched twice; the handle gets its default at each launch.
static void conditional_nodes()
{
    cudaGraph_t graph, body;
    cudaGraphExec_t exec;
    cudaGraphNode_t loop, first, second;
    cudaGraphConditionalHandle handle;
    int *p, h[2] = {5, 0}, one = 1;
    OK(cudaMalloc(&p, sizeof h));
    OK(cudaMemcpy(p, h, sizeof h, cudaMemcpyHostToDevice));
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
    cudaGraphNodeParams np = {cudaGraphNodeTypeConditional};
    np.conditional.handle = handle;
    np.conditional.type = cudaGraphCondTypeWhile;
    np.conditional.size = 1;
    OK(cudaGraphAddNode(&loop, graph, NULL, NULL, 0, &np));
    body = np.conditional.phGraph_out[0];
    int *next = p + 1;
    void *add_args[] = {&next, &one}, *down_args[] = {&p, &handle};
    cudaKernelNodeParams kp = {};
    kp.func = (void *)add, kp.gridDim = dim3(1), kp.blockDim = dim3(1), kp.kernelParams = add_args;
    OK(cudaGraphAddKernelNode(&first, body, NULL, 0, &kp));
    kp.func = (void *)count_down, kp.kernelParams = down_args;
    OK(cudaGraphAddKernelNode(&second, body, &first, 1, &kp));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaMemcpy(h, p, sizeof h, cudaMemcpyDeviceToHost));
    EQ(h[0], 0);
    EQ(h[1], 5);
    h[0] = 3;
    OK(cudaMemcpy(p, h, sizeof h, cudaMemcpyHostToDevice));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaMemcpy(h, p, sizeof h, cudaMemcpyDeviceToHost));
    EQ(h[1], 8);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(p));
}

int main()
{
    streams_and_events();
    capture();
    capture_errors();
    explicit_graph();
    memory_nodes();
    conditional_nodes();
    return check_end();
}
