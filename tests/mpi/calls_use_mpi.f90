! SPDX-License-Identifier: BSD-3-Clause
! An unmodified program that uses the module mpi: 40 all-reduces that strata may run, 10 with an operation of the
! user's, and 10 of a derived type from MPI_BOTTOM with one that does not commute. Prints "calls: right" from rank 0.
program calls_use_mpi
  use mpi
  implicit none
  integer, parameter :: most = 50000
  integer :: words(300), results(300)
  real :: reals(most)
  double precision :: doubles(2), double_results(2)
  integer :: rank, ranks, code, wrong, all_wrong, turn, i, operation, ordered, placed
  integer :: line(2)
  integer(MPI_ADDRESS_KIND) :: place
  common /lines/ line, place
  external :: larger_in_size, one_after_other

  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
  call MPI_Op_create(larger_in_size, .true., operation, code)
  call MPI_Op_create(one_after_other, .false., ordered, code)
  ! Counted from address 0, where MPI_BOTTOM is: the two integers of `line`.
  call MPI_Get_address(line(1), place, code)
  call MPI_Type_create_hindexed(1, [2], [place], MPI_INTEGER, placed, code)
  call MPI_Type_commit(placed, code)
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

    line = [2, rank + turn]
    call MPI_Allreduce(MPI_IN_PLACE, MPI_BOTTOM, 1, placed, ordered, MPI_COMM_WORLD, code)
    if (any(line /= [2**ranks, sum([(2**i*(i + turn), i=0, ranks - 1)])])) wrong = wrong + 1
  end do

  call MPI_Reduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, code)
  if (rank == 0 .and. all_wrong == 0) print '(a)', 'calls: right'
  if (rank == 0 .and. all_wrong /= 0) print '(a,i0,a)', 'calls: ', all_wrong, ' wrong'
  call MPI_Op_free(operation, code)
  call MPI_Op_free(ordered, code)
  call MPI_Type_free(placed, code)
  call MPI_Finalize(code)
end program calls_use_mpi

subroutine larger_in_size(in, inout, length, datatype)
  implicit none
  integer :: length, datatype
  integer :: in(length), inout(length)
  if (datatype /= 0 .and. length > 0) where (abs(in) > abs(inout)) inout = in
end subroutine larger_in_size

! The map x -> a x + b of `in`, which is a and b, after that of `inout`. The type places them from address 0, and MPI
! places its copies likewise.
subroutine one_after_other(in, inout, length, datatype)
  use mpi
  implicit none
  integer :: length, datatype, line(2)
  integer :: in(*), inout(*)
  integer(MPI_ADDRESS_KIND) :: place, a, b
  common /lines/ line, place
  a = place/4 + 1
  b = a + 1
  if (datatype /= MPI_INTEGER .and. length == 1) inout(a:b) = [in(a)*inout(a), in(a)*inout(b) + in(b)]
end subroutine one_after_other
