extension Duration {
  /// The short form that policies are written in: `250ms`, `30s`, `15m`, `1h`; exact.
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

  /// Reads `250ms`, `30s`, `1.5s`, `15m`, `1h`, `40us` or `7ns`; `nil` otherwise.
  public init?(text: some StringProtocol) {
    let split = text.firstIndex { !($0.isASCII && $0.isNumber) && $0 != "." } ?? text.endIndex
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
    guard !overflow else { return nil }
    var total = scaled
    if parts.count == 2 {
      guard (1...9).contains(parts[1].count), let digits = Int64(parts[1]) else { return nil }
      var divisor: Int64 = 1
      for _ in parts[1] { divisor *= 10 }
      let (share, carried) = digits.multipliedReportingOverflow(by: scale)
      guard !carried, share % divisor == 0 else { return nil }
      total += share / divisor
    }
    guard total >= 0 else { return nil }
    self = .nanoseconds(total)
  }
}

extension Schedule {
  /// `1s,2s,4s` for a list; `1s*2 max 30s +-0.25 min 1s x20` for an exponential one.
  public var text: String {
    switch self {
    case .list(let waits):
      return waits.isEmpty ? "none" : waits.map(\.text).joined(separator: ",")
    case .exponential(let first, let factor, let cap, let jitter, let floor, let attempts):
      let count = attempts.map(String.init) ?? "unlimited"
      return "\(first.text)*\(factor) max \(cap.text) +-\(jitter) min \(floor.text) x\(count)"
    }
  }

  /// Reads what `text` writes.
  public init?(text: some StringProtocol) {
    if text == "none" {
      self = .list([])
      return
    }
    let words = text.split(separator: " ")
    guard words.count > 1 else {
      let waits = text.split(separator: ",", omittingEmptySubsequences: false).map {
        Duration(text: $0)
      }
      guard !waits.isEmpty, !waits.contains(nil) else { return nil }
      self = .list(waits.compactMap(\.self))
      return
    }
    let head = words[0].split(separator: "*")
    guard words.count == 7, head.count == 2, words[1] == "max", words[4] == "min",
      words[3].hasPrefix("+-"), words[6].hasPrefix("x"),
      let first = Duration(text: head[0]), let factor = Int(head[1]),
      let cap = Duration(text: words[2]), let jitter = Double(words[3].dropFirst(2)),
      let floor = Duration(text: words[5])
    else { return nil }
    let count = words[6].dropFirst()
    let attempts = Int(count)
    guard attempts != nil || count == "unlimited" else { return nil }
    self = .exponential(
      first: first, factor: factor, cap: cap, jitter: jitter, floor: floor, attempts: attempts)
  }
}
