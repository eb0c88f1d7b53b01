import LinkCore
import LinkWire

/// How the ends of a message stream read what comes, told a second time.
///
/// Members come in any order. Of repeated ones the last counts, but the first one that is no good
/// is the fault of the whole.
struct StreamReading {
  let shop: ShopID
  let limits: MessageLimits
  private var fault: MessageError?

  init(_ shop: ShopID, _ limits: MessageLimits) { (self.shop, self.limits) = (shop, limits) }

  private mutating func spoil(_ error: MessageError) { if fault == nil { fault = error } }

  // Identifiers.

  private static let wordBytes = Set(
    Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8))

  /// Whether a text names a shop: 1 to 128 letters of paths, and no step in one.
  static func isShop(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    let isWord = bytes.allSatisfy { wordBytes.contains($0) || $0 == 46 }
    return isWord && !bytes.isEmpty && bytes.count < 129 && ![".", ".."].contains(text)
  }

  /// Reads `epoch:offset`.
  static func position(_ text: String) -> Position? {
    let bytes = Array(text.utf8)
    guard let colon = bytes.firstIndex(of: 58) else { return nil }
    let (epoch, digits) = (bytes[..<colon], bytes[(colon + 1)...])
    guard !epoch.isEmpty, epoch.count < 65, epoch.allSatisfy({ wordBytes.contains($0) }),
      let offset = UInt64(String(decoding: digits, as: UTF8.self)), offset < 1 << 63,
      "\(offset)" == String(decoding: digits, as: UTF8.self)
    else { return nil }
    return Position(epoch: String(decoding: epoch, as: UTF8.self), offset: offset)
  }

  // Messages.

  private static let texts = [
    "id", "shop_id", "user_id", "username", "message", "created_at", "updated_at", "parent_id",
    "position",
  ]

  /// Reads the members of a message.
  mutating func message(_ members: [SessionBranch]) throws(MessageError) -> Message {
    var good: [String: String] = [:]
    var isEdited = false
    for member in members {
      if member.name == "is_edited" {
        isEdited = flag(member) ?? false
      } else if Self.texts.contains(member.name) {
        good[member.name] = text(member).flatMap { accepts($0, as: member.name) ? $0 : nil }
      }
    }
    if let fault { throw fault }
    for name in ["id", "shop_id", "user_id", "message", "created_at"] where good[name] == nil {
      throw .missing(field: name)
    }
    guard let id = good["id"].flatMap({ UUID128($0) }), let text = good["message"],
      let user = good["user_id"], let created = good["created_at"].flatMap({ RFC3339.parse($0) })
    else { throw .malformed(detail: "the account is wrong") }
    var updated = good["updated_at"].flatMap { RFC3339.parse($0) }
    // A plain server stamps both times alike when a message is created.
    if updated == created, !isEdited { updated = nil }
    return Message(
      id: id, shop: shop, user: user, username: good["username"].flatMap { $0 == "" ? nil : $0 },
      text: text, createdAt: created, updatedAt: updated, isEdited: isEdited,
      parent: good["parent_id"].flatMap { UUID128($0) },
      position: good["position"].flatMap { Self.position($0) })
  }

  private mutating func text(_ member: SessionBranch) -> String? {
    if case .text(let text) = member.value { return text }
    if member.value != .null { spoil(.wrongType(field: member.name)) }
    return nil
  }

  private mutating func flag(_ member: SessionBranch) -> Bool? {
    if case .flag(let flag) = member.value { return flag }
    if member.value != .null { spoil(.wrongType(field: member.name)) }
    return nil
  }

  private mutating func accepts(_ text: String, as name: String) -> Bool {
    let before = fault
    switch name {
    case "id", "parent_id": if UUID128(text) == nil { spoil(.badIdentifier(field: name)) }
    case "position": if Self.position(text) == nil { spoil(.badIdentifier(field: name)) }
    case "created_at", "updated_at": if RFC3339.parse(text) == nil { spoil(.badDate(field: name)) }
    case "user_id": if !(1...256 ~= text.utf8.count) { spoil(.badIdentifier(field: name)) }
    case "message":
      let length = text.unicodeScalars.count
      if length > limits.maxCharacters { spoil(.textTooLong(characters: length)) }
    case "shop_id":
      let isUUID = UUID128(text) != nil && UUID128(text) == UUID128(shop.text)
      if text != shop.text, !isUUID {
        spoil(Self.isShop(text) ? .wrongShop(found: text) : .badIdentifier(field: name))
      }
    case _: return true
    }
    return fault == before
  }

  // Frames and answers.

  /// Reads a frame of a socket.
  mutating func frame(_ bytes: [UInt8]) throws(MessageError) -> StreamFrame {
    if bytes.count > limits.maxFrameBytes { throw .frameTooLong(bytes: bytes.count) }
    let members = try Self.object(bytes)
    var type: String?
    var times: [String] = []
    for member in members {
      if member.name == "type", case .text(let text) = member.value { type = text }
      if member.name == "within_ms", case .number(let digits) = member.value {
        times.append(digits)
      }
    }
    guard let type, !members.contains(where: { $0.name == "id" }) else {
      return .message(try message(members))
    }
    guard type == "draining" else { return .unknown(type: type) }
    guard members.contains(where: { $0.name == "within_ms" }) else {
      throw .missing(field: "within_ms")
    }
    // Digits alone: no server writes milliseconds with a point or an exponent.
    guard let last = times.last, let time = Int64(last), time > -1 else {
      throw .wrongType(field: "within_ms")
    }
    return .draining(within: .milliseconds(time))
  }

  /// Reads the answer to a post.
  mutating func answer(_ bytes: [UInt8]) throws(MessageError) -> Message {
    let members = try Self.object(bytes)
    for member in members.reversed() where member.name == "data" {
      if case .object(let inner) = member.value { return try message(inner) }
    }
    return try message(members)
  }

  /// Reads the body of a post.
  func new(_ bytes: [UInt8]) throws(MessageError) -> NewMessage {
    let members = try Self.object(bytes)
    let name = try Self.must("shop_id", in: members)
    guard Self.isShop(name), let shop = ShopID(name) else { throw .badIdentifier(field: "shop_id") }
    let text = try Self.must("message", in: members)
    let length = text.unicodeScalars.count
    if length > limits.maxCharacters { throw .textTooLong(characters: length) }
    guard let parent = try Self.text("parent_id", in: members) else {
      return NewMessage(shop: shop, text: text)
    }
    guard let id = UUID128(parent) else { throw .badIdentifier(field: "parent_id") }
    return NewMessage(shop: shop, text: text, parent: id)
  }

  private static func text(
    _ name: String, in members: [SessionBranch]
  ) throws(MessageError) -> String? {
    guard let last = members.last(where: { $0.name == name }), last.value != .null else {
      return nil
    }
    guard case .text(let text) = last.value else { throw .wrongType(field: name) }
    return text
  }

  private static func must(
    _ name: String, in members: [SessionBranch]
  ) throws(MessageError) -> String {
    guard let text = try text(name, in: members), text != "" else { throw .missing(field: name) }
    return text
  }

  /// Reads the words for people in an error's body.
  static func note(_ bytes: [UInt8]) -> String? {
    guard let members = try? object(bytes) else { return nil }
    for name in ["message", "error"] {
      let texts = members.compactMap { member -> String? in
        guard member.name == name, case .text(let text) = member.value else { return nil }
        return text
      }
      if let last = texts.last, last != "" {
        var short = ""
        short.unicodeScalars.append(contentsOf: Array(last.unicodeScalars).prefix(300))
        return short
      }
    }
    return nil
  }

  static func object(_ bytes: [UInt8]) throws(MessageError) -> [SessionBranch] {
    guard case .object(let members)? = SessionTree(bytes) else { throw .malformed(detail: "") }
    return members
  }
}

extension MessageError {
  /// Reads a text; errors of texts that are no JSON lose their place, which no account tells.
  static func plain<Value>(
    _ read: () throws(MessageError) -> Value
  ) -> Result<Value, MessageError> {
    do throws(MessageError) {
      return .success(try read())
    } catch {
      if case .malformed = error { return .failure(.malformed(detail: "")) }
      return .failure(error)
    }
  }
}
