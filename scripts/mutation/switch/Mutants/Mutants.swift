// The functions that planted code calls. Each takes the number of its mutant, and behaves like the
// original unless that mutant is on. `&&`, `||`, `+` and `-` have two mutants: the number and the
// next one.
//
// While mutants are watched, each function records whether the mutant's result would differ. If
// that cannot be determined without side effects, reaching the mutant counts.
public import CMutants

@inlinable @inline(__always)
public func mutantLess<T: Comparable>(_ number: Int32, _ left: T, _ right: T) -> Bool {
  mutants_off(number) ? left < right : mutantChoice(number, left < right, left <= right)
}

@inlinable @inline(__always)
public func mutantLessOrEqual<T: Comparable>(_ number: Int32, _ left: T, _ right: T) -> Bool {
  mutants_off(number) ? left <= right : mutantChoice(number, left <= right, left < right)
}

@inlinable @inline(__always)
public func mutantMore<T: Comparable>(_ number: Int32, _ left: T, _ right: T) -> Bool {
  mutants_off(number) ? left > right : mutantChoice(number, left > right, left >= right)
}

@inlinable @inline(__always)
public func mutantMoreOrEqual<T: Comparable>(_ number: Int32, _ left: T, _ right: T) -> Bool {
  mutants_off(number) ? left >= right : mutantChoice(number, left >= right, left > right)
}

public func mutantChoice(_ number: Int32, _ plain: Bool, _ other: Bool) -> Bool {
  mutants_take(number, plain != other) ? other : plain
}

@inlinable @inline(__always)
public func mutantNot(_ number: Int32, _ value: Bool) -> Bool {
  mutants_off(number) ? value : mutantChoice(number, value, !value)
}

@inlinable @inline(__always)
public func mutantTrue(_ number: Int32, _ value: Bool) -> Bool {
  mutants_off(number) ? value : mutantChoice(number, value, true)
}

@inlinable @inline(__always)
public func mutantFalse(_ number: Int32, _ value: Bool) -> Bool {
  mutants_off(number) ? value : mutantChoice(number, value, false)
}

/// Returns whether a statement runs, or whether a pattern may match.
@inlinable @inline(__always)
public func mutantRuns(_ number: Int32) -> Bool {
  mutants_off(number) || !mutants_take(number, true)
}

/// Evaluates `&&`. The first mutant is only the right side, the second only the left side.
@inlinable @inline(__always)
public func mutantAnd(
  _ number: Int32, _ left: Bool, _ right: @autoclosure () throws -> Bool
) rethrows -> Bool {
  if mutants_off_both(number) { return try left && right() }
  if mutants_on(number + 1) { return left }
  if mutants_take(number, !left) { return try right() }
  guard left else { return false }
  let both = try right()
  _ = mutants_take(number + 1, !both)
  return both
}

/// Evaluates `||`. The first mutant is only the right side, the second only the left side.
@inlinable @inline(__always)
public func mutantOr(
  _ number: Int32, _ left: Bool, _ right: @autoclosure () throws -> Bool
) rethrows -> Bool {
  if mutants_off_both(number) { return try left || right() }
  if mutants_on(number + 1) { return left }
  if mutants_take(number, left) { return try right() }
  guard !left else { return true }
  let either = try right()
  _ = mutants_take(number + 1, either)
  return either
}

@inlinable @inline(__always)
public func mutantNil<T>(_ number: Int32, _ value: T?) -> T? {
  if !mutants_off(number), mutants_take(number, value != nil) { return nil }
  return value
}

@inlinable @inline(__always)
public func mutantEmpty<T>(_ number: Int32, _ value: [T]) -> [T] {
  if !mutants_off(number), mutants_take(number, !value.isEmpty) { return [] }
  return value
}

/// Evaluates `+`. The first mutant is `-`, the second only the left side.
@inlinable @inline(__always)
public func mutantPlus<T: AdditiveArithmetic>(_ number: Int32, _ left: T, _ right: T) -> T {
  if mutants_off_both(number) { return left + right }
  if mutants_take(number, right != .zero) { return left - right }
  return mutants_take(number + 1, right != .zero) ? left : left + right
}

/// Evaluates `-`. The first mutant is `+`, the second only the left side.
@inlinable @inline(__always)
public func mutantMinus<T: AdditiveArithmetic>(_ number: Int32, _ left: T, _ right: T) -> T {
  if mutants_off_both(number) { return left - right }
  if mutants_take(number, right != .zero) { return left + right }
  return mutants_take(number + 1, right != .zero) ? left : left - right
}

/// Evaluates any operator. The mutant is only the left side.
@inlinable @inline(__always)
public func mutantLeft<T, U>(
  _ number: Int32, _ left: T, _ right: U, _ operation: (T, U) -> T
) -> T {
  if !mutants_off(number), mutants_take(number, true) { return left }
  return operation(left, right)
}

@inlinable @inline(__always)
public func mutantMin<T: Comparable>(_ number: Int32, _ left: T, _ right: T) -> T {
  if !mutants_off(number), mutants_take(number, left != right) { return max(left, right) }
  return min(left, right)
}

@inlinable @inline(__always)
public func mutantMax<T: Comparable>(_ number: Int32, _ left: T, _ right: T) -> T {
  if !mutants_off(number), mutants_take(number, left != right) { return min(left, right) }
  return max(left, right)
}

@inlinable @inline(__always)
public func mutantFirst<C: BidirectionalCollection>(_ number: Int32, _ all: C) -> C.Element? {
  if !mutants_off(number), mutants_take(number, all.count > 1) { return all.last }
  return all.first
}

@inlinable @inline(__always)
public func mutantLast<C: BidirectionalCollection>(_ number: Int32, _ all: C) -> C.Element? {
  if !mutants_off(number), mutants_take(number, all.count > 1) { return all.first }
  return all.last
}

/// Returns an argument. The mutant is the neighboring argument.
@inlinable @inline(__always)
public func mutantArgument<T>(_ number: Int32, _ own: T, _ other: T) -> T {
  if !mutants_off(number), mutants_take(number, true) { return other }
  return own
}

@inlinable @inline(__always)
public func mutantInteger<T: ExpressibleByIntegerLiteral>(
  _ number: Int32, _ plain: T, _ other: T
) -> T {
  if !mutants_off(number), mutants_take(number, true) { return other }
  return plain
}

@inlinable @inline(__always)
public func mutantNumber<T: ExpressibleByFloatLiteral>(
  _ number: Int32, _ plain: T, _ other: T
) -> T {
  if !mutants_off(number), mutants_take(number, true) { return other }
  return plain
}
