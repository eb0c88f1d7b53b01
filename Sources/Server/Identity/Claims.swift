public import HoldfastCore
import HoldfastJSON
public import HoldfastMessageData

/// The claims of a token about its bearer.
public struct Claims: Sendable, Hashable, Codable {
  /// The bearer's user id, 1 to 256 bytes (`sub`).
  public var user: String
  /// The bearer's display name (`name`). It is empty if the token has none.
  public var name: String
  /// The rooms that the bearer belongs to (`shops`).
  public var shops: [ShopID]
  /// The rooms in which the bearer may delete the messages of others (`admin`). It is empty if the
  /// token has no such claim.
  public var admin: [ShopID]
  /// The time from which the token is invalid (`exp`, RFC 7519 section 4.1.4).
  public var expiresAt: Timestamp
  /// The time before which the token is invalid (`nbf`, RFC 7519 section 4.1.5).
  public var notBefore: Timestamp?

  /// The maximum size of a user's id, in bytes.
  package static let maxUserBytes = MessageReader.maxUserBytes

  /// Creates claims to be signed, without validation.
  public init(
    user: String, name: String, shops: [ShopID], admin: [ShopID] = [], expiresAt: Timestamp,
    notBefore: Timestamp? = nil
  ) {
    self.user = user
    self.name = name
    self.shops = shops
    self.admin = admin
    self.expiresAt = expiresAt
    self.notBefore = notBefore
  }

  /// Creates claims from the texts of another issuer's token. Texts that are no ids of shops are left
  /// out, since issuers also list other roles there.
  package init(
    user: String, name: String, namedShops: [String], namedAdmin: [String], expiresAt: Timestamp
  ) {
    self.init(
      user: user, name: name, shops: namedShops.compactMap { ShopID($0) },
      admin: namedAdmin.compactMap { ShopID($0) }, expiresAt: expiresAt)
  }

  /// Returns whether the token is already valid, according to a clock that may be slow by `leeway`.
  public func hasBegun(by now: Timestamp, within leeway: Duration) -> Bool {
    notBefore.map { now.advanced(by: leeway) >= $0 } ?? true
  }

  /// Reads the payload of a token. Other claims are ignored. If a claim is repeated, the last one
  /// is used.
  ///
  /// A time beyond the range of `Timestamp` becomes the end of the range. Throws an error if a
  /// claim is absent, has the wrong type or is out of bounds.
  public static func decode(json payload: [UInt8]) throws(MessageError) -> Claims {
    let fields = try JSONReader.read(payload) { (reader) throws(JSONError) in
      var fields = ClaimsReader()
      try fields.readObject(from: &reader)
      return fields
    }
    return try fields.claims()
  }

  /// Returns the payload. `exp` is rounded down to whole seconds, and `nbf` is rounded up.
  public func encode() -> [UInt8] {
    var writer = JSONWriter(capacity: 256)
    writer.beginObject()
    writer.entry("sub", user)
    writer.entry("name", name)
    writer.entry("shops", shops.map(\.text))
    if !admin.isEmpty { writer.entry("admin", admin.map(\.text)) }
    writer.key("exp")
    let (seconds, rest) = expiresAt.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    writer.int(rest < 0 ? seconds - 1 : seconds)
    if let notBefore {
      // Rounding up ensures that a token is never valid too early.
      let (seconds, rest) = notBefore.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
      writer.entry("nbf", rest > 0 ? seconds + 1 : seconds)
    }
    writer.endObject()
    return writer.bytes
  }
}

/// The claims of a token's payload that have been read so far.
private struct ClaimsReader {
  private var user: String?
  private var name = ""
  private var shops: [ShopID]?
  private var admin: [ShopID] = []
  private var expiresAt: Timestamp?
  private var notBefore: Timestamp?
  private var fault: MessageError?

  func claims() throws(MessageError) -> Claims {
    if let fault { throw fault }
    guard let user, !user.isEmpty else { throw .missing(field: "sub") }
    guard user.utf8.count <= MessageReader.maxUserBytes else {
      throw .badIdentifier(field: "sub")
    }
    guard let shops else { throw .missing(field: "shops") }
    guard let expiresAt else { throw .missing(field: "exp") }
    return Claims(
      user: user, name: name, shops: shops, admin: admin, expiresAt: expiresAt,
      notBefore: notBefore)
  }

  mutating func readObject(from reader: inout JSONReader) throws(JSONError) {
    try reader.beginObject()
    while let key = try reader.nextKey() {
      switch reader.text(of: key) {
      case "sub":
        user = try reader.finds(.string, in: "sub", noting: &fault) ? reader.string() : nil
      case "name":
        name = try reader.finds(.string, in: "name", noting: &fault) ? reader.string() : ""
      case "shops":
        shops = try readShops("shops", from: &reader, noting: &fault)
      case "admin":
        // Other issuers may use this name for something else, which gives no rights here.
        var ignored: MessageError?
        let found = try readShops("admin", from: &reader, noting: &ignored)
        admin = ignored == nil ? found ?? [] : []
      case "exp":
        expiresAt =
          try reader.finds(.number, in: "exp", noting: &fault)
          ? Timestamp(tokenSeconds: reader.double()) : nil
      case "nbf":
        notBefore =
          try reader.finds(.number, in: "nbf", noting: &fault)
          ? Timestamp(tokenSeconds: reader.double().rounded(.up)) : nil
      case _: try reader.skipValue()
      }
    }
  }

  /// Reads a list of shops. Returns `nil` if the value is not a list.
  private func readShops(
    _ claim: String, from reader: inout JSONReader, noting fault: inout MessageError?
  ) throws(JSONError) -> [ShopID]? {
    guard try reader.finds(.array, in: claim, noting: &fault) else { return nil }
    var shops: [ShopID] = []
    try reader.beginArray()
    while try reader.nextElement() {
      guard try reader.finds(.string, in: claim, noting: &fault) else { continue }
      if let shop = ShopID(try reader.string()) {
        shops.append(shop)
      } else {
        fault.note(.badIdentifier(field: claim))
      }
    }
    return shops
  }
}

extension Timestamp {
  /// Creates a time from a numeric date of a token (RFC 7519 section 2). Fractions are dropped, so
  /// that a token is never valid for longer than it states.
  ///
  /// A time beyond the range of `Timestamp` becomes the end of the range.
  package init(tokenSeconds seconds: Double) {
    let whole = Int64(max(-9e18, min(9e18, seconds)))
    let (scaled, overflow) = whole.multipliedReportingOverflow(by: 1_000_000_000)
    self.init(nanoseconds: overflow ? (whole < 0 ? .min : .max) : scaled)
  }
}
