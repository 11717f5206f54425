# Several inputs in one -c: each .cu is looked at on its own, every object is there, C++ is nvcc's business.
unit; sed -i '/kscc:/d' unit.cu; cp unit.cu two.cu; echo 'int f() { return 1; }' >three.cpp
agent -c unit.cu two.cu three.cpp
expect_status 0
for o in unit.o two.o three.o; do expect_file $o; done
expect_err "unit.cu: no workload"
expect_err "two.cu: no workload"
expect_no_err "three.cpp"
