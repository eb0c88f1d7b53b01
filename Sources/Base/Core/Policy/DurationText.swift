extension Duration {
  /// The short form used in policies: `250ms`, `30s`, `15m`, `1h`. It is exact.
  public var text: String {
    let units: [(name: String, nanoseconds: Int64)] = [
      ("h", 3_600_000_000_000), ("m", 60_000_000_000), ("s", 1_000_000_000), ("ms", 1_000_000),
      ("us", 1000),
    ]
    let total = nanoseconds
    guard total != 0 else { return "0s" }
    for unit in units where total % unit.nanoseconds == 0 {
      return "\(total / unit.nanoseconds)\(unit.name)"
    }
    return "\(total)ns"
  }

  /// The range of durations accepted in a policy, a plan or a command line: up to 10,000 hours.
  ///
  /// This is far below the 292 years that a clock can represent. A key may accept a smaller range.
  public static let written: ClosedRange<Duration> = .zero ... .seconds(36_000_000)

  /// Parses `250ms`, `30s`, `1.5s`, `15m`, `1h`, `40us` or `7ns`. Returns `nil` for other text, or
  /// for a duration outside `written`.
  public init?(text: some StringProtocol) {
    let split = text.firstIndex { !$0.isNumber && $0 != "." } ?? text.endIndex
    let scale: Int64
    switch String(text[split...]) {
    case "ns": scale = 1
    case "us": scale = 1000
    case "ms": scale = 1_000_000
    case "s": scale = 1_000_000_000
    case "m": scale = 60_000_000_000
    case "h": scale = 3_600_000_000_000
    case _: return nil
    }
    let parts = text[..<split].split(separator: ".", omittingEmptySubsequences: false)
    guard (1...2).contains(parts.count), let whole = Int64(parts[0]) else { return nil }
    let (scaled, overflow) = whole.multipliedReportingOverflow(by: scale)
    guard !overflow, Self.written.contains(.nanoseconds(scaled)) else { return nil }
    var total = scaled
    if parts.count == 2 {
      guard (1...9).contains(parts[1].count), let digits = Int64(parts[1]) else { return nil }
      var divisor: Int64 = 1
      for _ in parts[1] { divisor *= 10 }
      // The product has double width, since nine decimal digits of an hour do not fit into 64 bits.
      let share = divisor.dividingFullWidth(digits.multipliedFullWidth(by: scale))
      guard share.remainder == 0 else { return nil }
      total += share.quotient
    }
    guard Self.written.contains(.nanoseconds(total)) else { return nil }
    self = .nanoseconds(total)
  }
}

extension ClosedRange<Duration> {
  /// The range as text, such as `0s to 10000h`.
  public var text: String { "\(lowerBound.text) to \(upperBound.text)" }
}

/// The ranges of numbers without a unit in the text of a policy.
enum WrittenNumber {
  /// The range of attempts, failures, round trips and factors. Validation may require more than 0.
  static let counts = 0...1_000
  /// The range of fractions, such as jitter.
  static let shares = 0.0...1.0

  static func count(_ text: some StringProtocol) -> Int? {
    Int(text).flatMap { counts.contains($0) ? $0 : nil }
  }

  static func share(_ text: some StringProtocol) -> Double? {
    Double(text).flatMap { shares.contains($0) ? $0 : nil }
  }
}

extension Schedule {
  /// A description of the text form, with the range of each number.
  static let form =
    "a list of at most 1000 waits such as 0s,1s,2s, or FIRST*FACTOR max CAP +-JITTER min FLOOR "
    + "xATTEMPTS such as 1s*2 max 30s +-0.25 min 1s x20: factor and attempts 1 to 1000, or "
    + "xunlimited, jitter 0 to 1, waits \(Duration.written.text)"

  /// The text form: `1s,2s,4s` for a list, `1s*2 max 30s +-0.25 min 1s x20` for exponential
  /// back-off.
  public var text: String {
    switch self {
    case .list(let waits):
      return waits.isEmpty ? "none" : waits.map { $0.text }.joined(separator: ",")
    case .exponential(let first, let factor, let cap, let jitter, let floor, let attempts):
      let count = attempts.map(String.init) ?? "unlimited"
      return "\(first.text)*\(factor) max \(cap.text) +-\(jitter) min \(floor.text) x\(count)"
    }
  }

  /// Parses the form that `text` returns.
  public init?(text: some StringProtocol) {
    if text == "none" {
      self = .list([])
      return
    }
    let parts = text.split(separator: " ")
    guard parts.count > 1 else {
      let waits = text.split(separator: ",", omittingEmptySubsequences: false).map {
        Duration(text: $0)
      }
      guard !waits.contains(nil) else { return nil }
      self = .list(waits.compactMap { $0 })
      return
    }
    let head = parts[0].split(separator: "*", omittingEmptySubsequences: false)
    guard parts.count == 7, head.count == 2, parts[1] == "max", parts[4] == "min",
      parts[3].hasPrefix("+-"), parts[6].hasPrefix("x"),
      let first = Duration(text: head[0]), let factor = WrittenNumber.count(head[1]),
      let cap = Duration(text: parts[2]), let jitter = WrittenNumber.share(parts[3].dropFirst(2)),
      let floor = Duration(text: parts[5])
    else { return nil }
    let count = parts[6].dropFirst()
    let attempts = WrittenNumber.count(count)
    guard attempts != nil || count == "unlimited" else { return nil }
    self = .exponential(
      first: first, factor: factor, cap: cap, jitter: jitter, floor: floor, attempts: attempts)
  }
}
