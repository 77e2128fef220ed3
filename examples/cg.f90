! SPDX-License-Identifier: BSD-3-Clause
! Conjugate gradients for the heat equation on a square plate, in Fortran with MPI.
!
! An ordinary MPI program: it knows nothing of strata. The plate's rows are divided among the ranks; each iteration
! exchanges border rows with the neighbours, and two all-reduces give the dot products that all ranks need.
!
!     mpirun -n 4 ./cg [points per side] [iterations]
!     mpirun -n 4 strata-run ./cg
!
! Prints the residual as it falls, and in the end the heat of the whole plate.
program cg
  use mpi
  implicit none
  integer, parameter :: real64 = kind(1.0d0)
  integer :: points = 256, iterations = 200
  integer :: rank, ranks, code, rows, first_row, iteration, up, down
  real(real64), allocatable :: x(:, :), r(:, :), p(:, :), q(:, :)
  real(real64) :: rho, rho_before, alpha, sums(2)
  character(len=32) :: text

  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
  if (command_argument_count() >= 1) then
    call get_command_argument(1, text)
    read (text, *) points
  end if
  if (command_argument_count() >= 2) then
    call get_command_argument(2, text)
    read (text, *) iterations
  end if

  first_row = rank * points / ranks + 1
  rows = (rank + 1) * points / ranks - first_row + 1
  up = merge(MPI_PROC_NULL, rank - 1, rank == 0)
  down = merge(MPI_PROC_NULL, rank + 1, rank == ranks - 1)
  allocate (x(points, 0:rows + 1), r(points, 0:rows + 1), p(points, 0:rows + 1), q(points, 0:rows + 1))
  x = 0
  r = 0
  p = 0
  q = 0
  call heat_sources(r)
  p = r
  rho = dot(r, r)
  if (rank == 0) print '(a,i5,a,es12.5)', 'iteration', 0, '  residual ', sqrt(rho)

  do iteration = 1, iterations
    call exchange_borders(p)
    call apply(p, q)
    alpha = rho / dot(p, q)
    x(:, 1:rows) = x(:, 1:rows) + alpha * p(:, 1:rows)
    r(:, 1:rows) = r(:, 1:rows) - alpha * q(:, 1:rows)
    rho_before = rho
    rho = dot(r, r)
    p(:, 1:rows) = r(:, 1:rows) + (rho / rho_before) * p(:, 1:rows)
    if (rank == 0 .and. mod(iteration, 50) == 0) print '(a,i5,a,es12.5)', 'iteration', iteration, '  residual ', sqrt(rho)
  end do

  sums(1) = sum(x(:, 1:rows))
  sums(2) = maxval(x(:, 1:rows))
  call MPI_Allreduce(MPI_IN_PLACE, sums(1), 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, code)
  call MPI_Allreduce(MPI_IN_PLACE, sums(2), 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, code)
  if (rank == 0) print '(a,es18.11,a,es18.11)', 'heat ', sums(1), '  hottest ', sums(2)
  call MPI_Finalize(code)

contains

  ! Two warm spots on the plate, the same whatever the number of ranks.
  subroutine heat_sources(field)
    real(real64), intent(inout) :: field(:, 0:)
    integer :: row, column
    do row = 1, rows
      do column = 1, points
        if (abs(first_row + row - 1 - points / 3) < points / 16 .and. abs(column - points / 4) < points / 16) field(column, row) = 1
        if (abs(first_row + row - 1 - points / 2) < points / 32 .and. abs(column - points / 2) < points / 32) field(column, row) = 2
      end do
    end do
  end subroutine heat_sources

  ! The five-point Laplacian, negative; the plate's rim is held at zero.
  subroutine apply(field, result)
    real(real64), intent(in) :: field(:, 0:)
    real(real64), intent(inout) :: result(:, 0:)
    integer :: row
    do row = 1, rows
      result(:, row) = 4 * field(:, row) - field(:, row - 1) - field(:, row + 1)
      result(2:, row) = result(2:, row) - field(:points - 1, row)
      result(:points - 1, row) = result(:points - 1, row) - field(2:, row)
    end do
  end subroutine apply

  subroutine exchange_borders(field)
    real(real64), intent(inout) :: field(:, 0:)
    integer :: status(MPI_STATUS_SIZE)
    call MPI_Sendrecv(field(1, 1), points, MPI_DOUBLE_PRECISION, up, 0, field(1, rows + 1), points, MPI_DOUBLE_PRECISION, &
                      down, 0, MPI_COMM_WORLD, status, code)
    call MPI_Sendrecv(field(1, rows), points, MPI_DOUBLE_PRECISION, down, 1, field(1, 0), points, MPI_DOUBLE_PRECISION, &
                      up, 1, MPI_COMM_WORLD, status, code)
  end subroutine exchange_borders

  function dot(a, b) result(total)
    real(real64), intent(in) :: a(:, 0:), b(:, 0:)
    real(real64) :: total, part
    part = sum(a(:, 1:rows) * b(:, 1:rows))
    call MPI_Allreduce(part, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, code)
  end function dot

end program cg
