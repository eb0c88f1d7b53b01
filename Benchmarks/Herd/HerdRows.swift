/// A row of the table that shows a herd over time.
public struct HerdRow: Sendable, Equatable {
  /// The seconds that the row summarizes.
  public var seconds: Range<Int>
  /// The highest number of attempts in one of these seconds.
  public var tries: Int
  /// The highest number of polls in one of these seconds.
  public var polls: Int
  /// The highest number of accepted connections in one of these seconds.
  public var accepted: Int
  /// The number of connected clients at the end of these seconds.
  public var connected: Int
}

extension HerdResult {
  /// Returns the herd over time: in long intervals while the server is away, and in shorter ones
  /// after its return.
  public func rows() -> [HerdRow] {
    let away = min(firstOpenSecond, seconds.count)
    return rows(of: 0..<away, atMost: 6) + rows(of: away..<seconds.count, atMost: 18)
  }

  private func rows(of interval: Range<Int>, atMost most: Int) -> [HerdRow] {
    let step = HerdText.step(for: interval.count, rows: most)
    return stride(from: interval.lowerBound, to: interval.upperBound, by: step).map { start in
      let part = start..<min(start + step, interval.upperBound)
      return HerdRow(
        seconds: part, tries: seconds[part].map { $0.tries }.max() ?? 0,
        polls: seconds[part].map { $0.polls }.max() ?? 0,
        accepted: seconds[part].map { $0.accepted }.max() ?? 0,
        connected: connected[part.upperBound - 1])
    }
  }
}
