! SPDX-License-Identifier: BSD-3-Clause
! An unmodified program that uses the module mpi: 40 all-reduces that strata may run, and 10 with an operation of the
! user's. Prints "calls: right" from rank 0.
program calls_use_mpi
  use mpi
  implicit none
  integer, parameter :: most = 50000
  integer :: words(300), results(300)
  real :: reals(most)
  double precision :: doubles(2), double_results(2)
  integer :: rank, ranks, code, wrong, all_wrong, turn, i, operation
  external :: larger_in_size

  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
  call MPI_Op_create(larger_in_size, .true., operation, code)
  wrong = 0
  do turn = 1, 10
    words = [(rank + i, i=1, 300)]
    call MPI_Allreduce(words, results, 300, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
    wrong = wrong + count(results /= [(ranks*(ranks - 1)/2 + ranks*i, i=1, 300)])
    call MPI_Allreduce(MPI_IN_PLACE, words, 300, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
    wrong = wrong + count(words /= results)

    reals = real(rank + 1)
    call MPI_Allreduce(MPI_IN_PLACE, reals, most, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, code)
    wrong = wrong + count(reals /= real(ranks*(ranks + 1)/2))

    doubles = [dble(rank), -dble(rank)]
    call MPI_Allreduce(doubles, double_results, 2, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, code)
    if (any(double_results /= [dble(ranks - 1), 0d0])) wrong = wrong + 1

    words(1) = merge(-100, rank, rank == ranks - 1)
    call MPI_Allreduce(words, results, 1, MPI_INTEGER, operation, MPI_COMM_WORLD, code)
    if (results(1) /= -100) wrong = wrong + 1
  end do

  call MPI_Reduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, code)
  if (rank == 0 .and. all_wrong == 0) print '(a)', 'calls: right'
  if (rank == 0 .and. all_wrong /= 0) print '(a,i0,a)', 'calls: ', all_wrong, ' wrong'
  call MPI_Op_free(operation, code)
  call MPI_Finalize(code)
end program calls_use_mpi

subroutine larger_in_size(in, inout, length, datatype)
  implicit none
  integer :: length, datatype
  integer :: in(length), inout(length)
  if (datatype /= 0 .and. length > 0) where (abs(in) > abs(inout)) inout = in
end subroutine larger_in_size
