import LinkCore

/// The words of policies, read and written a second time.
enum PolicyText {
  /// The units and their nanoseconds, longest first.
  private static let units: [(name: String, length: Int128)] = [
    ("h", 3_600_000_000_000), ("m", 60_000_000_000), ("s", 1_000_000_000), ("ms", 1_000_000),
    ("us", 1_000), ("ns", 1),
  ]

  /// What each place of a policy may be written as, at most: 10,000 hours.
  static let range = "0s to 10000h"

  static func text(_ duration: Duration) -> String {
    let total = Int128(duration.nanoseconds)
    if total == 0 { return "0s" }
    let unit = units.first { total.isMultiple(of: $0.length) }
    return "\(total / (unit?.length ?? 1))\(unit?.name ?? "ns")"
  }

  static func duration(_ text: String) -> Duration? {
    for unit in units where text.hasSuffix(unit.name) {
      let digits = String(text.dropLast(unit.name.count))
      if let total = nanoseconds(digits, unit.length) {
        return total <= 36_000_000_000_000_000 ? .nanoseconds(Int64(total)) : nil
      }
    }
    return nil
  }

  /// The exact nanoseconds of a number with at most nine digits behind its point.
  private static func nanoseconds(_ text: String, _ unit: Int128) -> Int128? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false).map { String($0) }
    let isPlain = parts.allSatisfy { part in
      !part.isEmpty && part.allSatisfy { "0123456789".contains($0) }
    }
    guard isPlain, parts.count < 3, parts[0].count < 20, let whole = Int128(parts[0]) else {
      return nil
    }
    guard parts.count == 2 else { return whole * unit }
    guard parts[1].count < 10, let digits = Int128(parts[1]) else { return nil }
    let all = parts[1].reduce(Int128(1)) { all, _ in all * 10 }
    return (digits * unit).isMultiple(of: all) ? whole * unit + digits * unit / all : nil
  }

  static func count(_ text: String) -> Int? {
    guard let number = Int(text), number >= 0, number <= 1_000 else { return nil }
    return number
  }

  static func share(_ text: String) -> Double? {
    guard let number = Double(text), number >= 0, number <= 1 else { return nil }
    return number
  }

  static func text(_ schedule: Schedule) -> String {
    switch schedule {
    case .list(let waits):
      let all = waits.reduce("") { $0 + "," + text($1) }
      return waits.isEmpty ? "none" : String(all.dropFirst())
    case .exponential(let first, let factor, let cap, let jitter, let floor, let attempts):
      let words = [
        "\(text(first))*\(factor)", "max", text(cap), "+-\(jitter)", "min", text(floor),
        attempts == nil ? "xunlimited" : "x\(attempts ?? 0)",
      ]
      return words.joined(separator: " ")
    }
  }

  static func schedule(_ text: String) -> Schedule? {
    if text == "none" { return .list([]) }
    let words = text.split(separator: " ").map { String($0) }
    if words.count < 2 {
      let all = text.split(separator: ",", omittingEmptySubsequences: false)
      let waits = all.compactMap { duration(String($0)) }
      return waits.count == all.count ? .list(waits) : nil
    }
    guard words.count == 7, words[1] == "max", words[4] == "min",
      let star = words[0].firstIndex(of: "*"), words[3].hasPrefix("+-"),
      words[6].first == "x",
      let first = duration(String(words[0][..<star])),
      let factor = count(String(words[0][star...].dropFirst())), let cap = duration(words[2]),
      let jitter = share(String(words[3].dropFirst(2))), let floor = duration(words[5])
    else { return nil }
    let end = String(words[6].dropFirst())
    guard end == "unlimited" || count(end) != nil else { return nil }
    return .exponential(
      first: first, factor: factor, cap: cap, jitter: jitter, floor: floor, attempts: count(end))
  }

  /// A number of things within a time, such as `10/1m`.
  static func window(_ text: String) -> AttemptWindow? {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { String($0) }
    guard parts.count == 2, let attempts = count(parts[0]), let per = duration(parts[1]),
      per <= .seconds(86_400)
    else { return nil }
    return AttemptWindow(attempts: attempts, per: per)
  }

  static func windows(_ text: String) -> [AttemptWindow]? {
    let all = text.split(separator: ",", omittingEmptySubsequences: false)
    let windows = all.compactMap { window(String($0)) }
    return windows.count == all.count && all.count <= 10 ? windows : nil
  }

  static func breaker(_ text: String) -> Breaker? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false).map { String($0) }
    guard parts.count == 2, let window = window(parts[0]), let pause = duration(parts[1]) else {
      return nil
    }
    return Breaker(failures: window.attempts, within: window.per, pause: pause)
  }
}
