public import LinkCore
import LinkJSON

/// Whose progress a phone keeps: a server, a person there, and one epoch of what is stored.
public struct SyncOwner: Sendable, Hashable, Codable {
  /// The address of the server.
  public var server: String
  /// The person whose secret is shown; `nil` if the server does not name them.
  public var user: String?
  /// One generation of what the server has stored; `nil` if it names none.
  public var epoch: String?

  /// An owner from its parts.
  public init(server: String, user: String? = nil, epoch: String? = nil) {
    (self.server, self.user, self.epoch) = (server, user, epoch)
  }

  /// Returns what is known after an answer of a server: what that does not say stays as it was.
  package func after(_ told: SyncOwner) -> SyncOwner {
    guard server == told.server else { return told }
    return SyncOwner(server: server, user: told.user ?? user, epoch: told.epoch ?? epoch)
  }

  /// The longest epoch that is heeded, in bytes, as that of a position.
  static let mostEpochBytes = 64
}

/// What a server says about itself, and about the phone that asks.
public struct SyncIdentity: Sendable, Hashable, Codable {
  /// Whose progress the phone makes.
  public var owner: SyncOwner
  /// The newest stamp of a batch of this phone that the server has stored.
  public var stamp: Timestamp?

  /// An identity from its parts.
  public init(_ owner: SyncOwner, stamp: Timestamp? = nil) {
    (self.owner, self.stamp) = (owner, stamp)
  }

  /// Reads the answer to `GET /api/sync`, whatever its status: a server of another make says
  /// nothing about itself.
  public init(_ body: [UInt8], server: String) {
    let fields = JSONFields(body, keeping: ["epoch", "user", "timestamp"])
    func text(_ name: String) -> String? { (try? fields.optionalString(name)).flatMap(\.self) }
    guard fields.fault == nil else {
      self.init(SyncOwner(server: server))
      return
    }
    let user = text("user").flatMap { (1...200).contains($0.utf8.count) ? $0 : nil }
    let epoch = text("epoch").flatMap { Self.epoch($0) }
    // Where no epoch is named, the time is another one: that of the server, for example.
    let stamp = epoch == nil ? nil : text("timestamp").flatMap { RFC3339.parse($0) }
    self.init(SyncOwner(server: server, user: user, epoch: epoch), stamp: stamp)
  }

  /// The body of the answer to a person who is known.
  public static func ready(epoch: String, user: String, stamp: Timestamp?) -> [UInt8] {
    var writer = JSONWriter(capacity: 150)
    writer.object {
      $0.entry("status", "ok")
      $0.entry("endpoint", "sync")
      $0.entry("epoch", epoch)
      $0.entry("user", user)
      if let stamp { $0.entry("timestamp", RFC3339.format(stamp)) }
    }
    return writer.bytes
  }

  /// The header field of every answer to a person who is known.
  public static let epochField = "Sync-Epoch"

  /// Returns the epoch that an answer names; `nil` if it names none.
  ///
  /// - Parameter field: Returns the value of a header field by its name in lower case.
  public static func epoch(field: (String) -> String?) -> String? {
    field(epochField.lowercased()).flatMap { epoch($0) }
  }

  private static func epoch(_ text: String) -> String? {
    let isPlain = text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    return isPlain && (1...SyncOwner.mostEpochBytes).contains(text.utf8.count) ? text : nil
  }
}

/// Numbers as JavaScript turns them into strings (ECMA-262, `Number::toString` with radix 10).
package enum SyncNumber {
  /// The shortest digits that read back as the same number; an exponent from 1e21 and below 1e-6.
  package static func text(_ number: Double) -> [UInt8] {
    guard number != 0 else { return [UInt8(ascii: "0")] }
    guard !number.isNaN else { return Array("NaN".utf8) }
    let sign = number.sign == .minus ? [UInt8(ascii: "-")] : []
    guard number.isFinite else { return sign + Array("Infinity".utf8) }
    // The digits are the same in Swift; what differs is where the exponent begins.
    var plain = Array(number.magnitude.description.utf8)
    guard let mark = plain.firstIndex(of: UInt8(ascii: "e")),
      let exponent = Int(String(decoding: plain[(mark + 1)...], as: UTF8.self))
    else {
      if plain.suffix(2).elementsEqual(".0".utf8) { plain.removeLast(2) }
      return sign + plain
    }
    let digits = plain[..<mark].filter { $0 != UInt8(ascii: ".") }
    return sign + text(digits, exponent: exponent, plain[mark + 1])
  }

  /// - Parameters:
  ///   - exponent: That of the first digit; Swift writes those from 15 on and below -4.
  ///   - sign: The sign of the exponent.
  private static func text(_ digits: [UInt8], exponent: Int, _ sign: UInt8) -> [UInt8] {
    let (zero, point) = (UInt8(ascii: "0"), UInt8(ascii: "."))
    func zeros(_ count: Int) -> [UInt8] { Array(repeating: zero, count: count) }
    // From 2^53 on no digits stand behind the point.
    if (15..<21).contains(exponent) { return digits + zeros(exponent + 1 - digits.count) }
    if (-6 ... -5).contains(exponent) { return [zero, point] + zeros(-exponent - 1) + digits }
    let rest = digits.count > 1 ? [point] + digits[1...] : []
    return [digits[0]] + rest + [UInt8(ascii: "e"), sign] + Array("\(abs(exponent))".utf8)
  }
}
