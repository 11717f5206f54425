#!/bin/bash
# Measures the set on the GPU at hand and reads Nsight Compute's counters of part of it.  Usage: run.sh OUT [BINARY]; without a binary it
# is built.  Leaves OUT/model.tsv, OUT/clocks.csv, OUT/device.csv, OUT/counters.csv, OUT/opcodes.csv.
set -u
out=$1
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../own_group.sh" "$0" "$@"
export PATH=$PATH:/usr/local/cuda/bin
binary=${2:-$out/measure}
mkdir -p "$out"
if [ $# -lt 2 ]; then
    nvcc -O3 -std=c++17 -arch=native -lineinfo "$here/measure.cu" -o "$binary" || exit 1
fi
fields=name,driver_version,clocks.max.sm,clocks.sm,clocks.mem,power.draw,temperature.gpu,clocks_event_reasons.active
nvidia-smi --query-gpu=$fields --format=csv >"$out/device.csv"
nvidia-smi --query-gpu=clocks.sm,clocks.mem,power.draw,clocks_event_reasons.active --format=csv,noheader -lms 100 >"$out/clocks.csv" &
watcher=$!
timeout 60 "$binary" >"$out/model.tsv" || echo "measure: $?"
kill $watcher

kernels="copy_1M copy4_16M copy_stride8 copy_offset3 transpose_plain transpose_conflict transpose_padded barriers_64 barriers_1024
shared_stride1 shared_stride2 shared_stride8 shared_stride32 shared_wide sum_tree sum_shuffle sum_diverging histogram_global_256
histogram_shared_256 histogram_shared_8 matmul_tile32_1024 matmul_regs4_1024 tensor_shared_2048 diverge4 exp_fast_full local_array gather_1M
stencil_shared norm_block_1024 scan_block count_one ticket_1024 copy_blocked32 sum_warp_atomic reread_l1 triad_8M"
wanted="l1tex__t_requests_pipe_lsu_mem_global_op_ld l1tex__t_requests_pipe_lsu_mem_global_op_st l1tex__t_requests_pipe_lsu_mem_global_op_red
l1tex__t_requests_pipe_lsu_mem_global_op_atom l1tex__t_sectors_pipe_lsu_mem_global_op_ld l1tex__t_sectors_pipe_lsu_mem_global_op_st
l1tex__t_sectors_pipe_lsu_mem_global_op_red l1tex__t_sectors_pipe_lsu_mem_global_op_atom l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit
l1tex__data_pipe_lsu_wavefronts_mem_shared l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st
l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld
l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st smsp__inst_executed smsp__thread_inst_executed smsp__thread_inst_executed_pred_on
smsp__sass_inst_executed_op_global_ld smsp__sass_inst_executed_op_global_st smsp__sass_inst_executed_op_global_red
smsp__sass_inst_executed_op_global_atom smsp__sass_inst_executed_op_shared_ld smsp__sass_inst_executed_op_shared_st
smsp__sass_inst_executed_op_shared_atom smsp__sass_inst_executed_op_local_ld smsp__sass_inst_executed_op_local_st
smsp__inst_executed_pipe_adu smsp__inst_executed_pipe_xu smsp__inst_executed_pipe_lsu smsp__inst_executed_pipe_alu smsp__inst_executed_pipe_fma
smsp__inst_executed_pipe_tensor lts__t_sectors_op_read lts__t_sectors_op_write lts__t_sectors_op_atom lts__t_sectors_op_red lts__t_sectors_srcunit_tex_lookup_miss
dram__bytes_read dram__bytes_write"
# names differ between versions: ask only for those this one knows
timeout 40 ncu --query-metrics >"$out/metrics.txt" 2>&1
list=gpu__time_duration.sum,launch__registers_per_thread,launch__occupancy_limit_registers,launch__occupancy_limit_shared_mem,launch__occupancy_limit_warps,launch__occupancy_limit_blocks
for m in $wanted; do
    grep -q "^$m " "$out/metrics.txt" && list=$list,$m.sum || echo "no metric $m"
done
gzip -f "$out/metrics.txt"
timeout 90 ncu --clock-control none --metrics "$list" --csv --page raw "$binary" $kernels >"$out/counters.csv" 2>"$out/counters.err" || echo "ncu counters: $?"
timeout 40 ncu --clock-control none --metrics sass__inst_executed_per_opcode --print-metric-instances details --csv --page raw "$binary" $kernels \
    >"$out/opcodes.csv" 2>"$out/opcodes.err" || echo "ncu opcodes: $?"
tail -n 3 "$out/counters.err" "$out/opcodes.err"
ls -la "$out"
