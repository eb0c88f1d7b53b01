import HoldfastCore
package import HoldfastJSON

/// The members of a message object that have been read so far.
///
/// Members can occur in any order, and unknown members may have any value. The first fault is
/// therefore stored until the end of the object, which shows whether the object is a message.
package struct MessageReader {
  private let shop: ShopID
  private let limits: MessageLimits
  /// The index of the field with which the next key is compared first. Servers usually send the
  /// fields in the same order.
  private var next = 0
  /// The error of the first invalid member.
  private var fault: MessageError?

  private(set) var hasID = false
  private(set) var type: String?
  /// The name of the event in a notice without a type.
  private(set) var event: String?
  private(set) var hasWithin = false
  private(set) var within: Int64?
  private var id: MessageID?
  private var hasShop = false
  private var user: String?
  private var username: String?
  private var content = MessageContent.Reader()
  private var createdAt: Timestamp?
  private var updatedAt: Timestamp?
  private var isEdited = false
  private var position: ShopPosition?
  private var changed: ShopPosition?
  private var deletedID: MessageID?
  /// The error of the first invalid member that only a deletion has. Messages of plain servers may
  /// have a member of the same name.
  private var deletionFault: MessageError?

  init(shop: ShopID, limits: MessageLimits) {
    self.shop = shop
    self.limits = limits
  }

  /// A member of a message or of a notice in the stream.
  private enum Field: String, CaseIterable {
    case id
    case shop = "shop_id"
    case user = "user_id"
    case username
    case text = "message"
    case createdAt = "created_at"
    case updatedAt = "updated_at"
    case isEdited = "is_edited"
    case parent = "parent_id"
    case position
    case changed
    case type
    case within = "within_ms"
    case event
    case deletedID = "message_id"

    static let all = allCases
  }

  /// Reads the next object.
  mutating func readObject(from reader: inout JSONReader) throws(JSONError) {
    try reader.beginObject()
    while let key = try reader.nextKey() { try read(key, from: &reader) }
  }

  /// Reads the value of `key`. If a key is repeated, the last value is used, but each value must be
  /// valid.
  mutating func read(_ key: JSONString, from reader: inout JSONReader) throws(JSONError) {
    for _ in Field.all {
      let field = Field.all[next]
      next = (next + 1) % Field.all.count
      if reader.matches(key, field.rawValue) { return try read(field, from: &reader) }
    }
    try reader.skipValue()
  }

  private mutating func read(_ field: Field, from reader: inout JSONReader) throws(JSONError) {
    switch field {
    case .id:
      hasID = true
      id = try reader.identifier(field.rawValue, noting: &fault)
    case .shop:
      guard let found = try string(field, from: &reader) else { return hasShop = false }
      hasShop = true
      if !reader.matches(found, shop.text) { check(shop: reader.utf8(of: found)) }
    case .user:
      user = try string(field, from: &reader).map(reader.text)
      if let user, user.isEmpty || user.utf8.count > Self.maxUserBytes {
        fault.note(.badIdentifier(field: field.rawValue))
      }
    case .username:
      let name = try string(field, from: &reader).map(reader.text)
      username = name == "" ? nil : name
    case .text: try content.read(.text, from: &reader, limits, noting: &fault)
    case .createdAt: createdAt = try time(field, from: &reader)
    case .updatedAt: updatedAt = try time(field, from: &reader)
    case .isEdited:
      isEdited = try reader.finds(.bool, in: field.rawValue, noting: &fault) ? reader.bool() : false
    case .parent: try content.read(.parent, from: &reader, limits, noting: &fault)
    case .position: position = try Self.place(field, from: &reader, noting: &fault)
    case .changed: changed = try Self.place(field, from: &reader, noting: &deletionFault)
    case .deletedID:
      deletedID = try reader.identifier(field.rawValue, noting: &deletionFault)
    case .type, .within, .event: try readNotice(field, from: &reader)
    }
  }

  /// Reads a member of a notice. In a message, a member of this name may have any value.
  private mutating func readNotice(
    _ field: Field, from reader: inout JSONReader
  ) throws(JSONError) {
    let kind = try reader.peek()
    if field == .type, kind == .string {
      type = try reader.string()
    } else if field == .event, kind == .string {
      event = try reader.string()
    } else if field == .within, kind == .number {
      within = try reader.intIfWhole()
    } else {
      try reader.skipValue()
    }
    if field == .within { hasWithin = true }
  }

  /// Returns the message, or throws the first error.
  func message() throws(MessageError) -> ShopMessage {
    if let fault { throw fault }
    guard let id else { throw .missing(field: Field.id.rawValue) }
    guard hasShop else { throw .missing(field: Field.shop.rawValue) }
    guard let user else { throw .missing(field: Field.user.rawValue) }
    guard let content = content.content else { throw .missing(field: Field.text.rawValue) }
    guard let createdAt else { throw .missing(field: Field.createdAt.rawValue) }
    // A plain server sets both times to the same value when a message is created.
    let isUntouched = updatedAt == createdAt && !isEdited
    return ShopMessage(
      id: id, shop: shop, user: user, username: username, content: content, createdAt: createdAt,
      updatedAt: isUntouched ? nil : updatedAt, isEdited: isEdited, position: position,
      changed: laterChange)
  }

  /// The position of the newest edit. It is `nil` if `changed` is not a later position in the same
  /// epoch, since plain servers may use the name for something else.
  private var laterChange: ShopPosition? {
    guard let position, let changed, changed.isLater(than: position) else { return nil }
    return changed
  }

  /// Whether the object has a position, as the notice of a deletion has.
  var hasPlace: Bool { position != nil || changed != nil }

  /// Returns the deletion, or throws the first error.
  ///
  /// - Parameter isNotice: Whether the shop must be named.
  func deletion(isNotice: Bool = true) throws(MessageError) -> ShopDeletion {
    if let fault = fault ?? deletionFault { throw fault }
    guard let id = deletedID else { throw .missing(field: Field.deletedID.rawValue) }
    guard hasShop || !isNotice else { throw .missing(field: Field.shop.rawValue) }
    guard let position else { throw .missing(field: Field.position.rawValue) }
    guard let changed else { throw .missing(field: Field.changed.rawValue) }
    guard changed.isLater(than: position) else {
      throw .badIdentifier(field: Field.changed.rawValue)
    }
    return ShopDeletion(id: id, shop: shop, position: position, changed: changed)
  }

  // MARK: - Values

  /// The maximum size of a user id, in bytes. The limit is Holdfast's own. Ids of the original
  /// system have 28 characters.
  package static let maxUserBytes = 256

  private mutating func string(
    _ field: Field, from reader: inout JSONReader
  ) throws(JSONError) -> JSONString? {
    try reader.finds(.string, in: field.rawValue, noting: &fault) ? reader.scanString() : nil
  }

  private static func place(
    _ field: Field, from reader: inout JSONReader, noting fault: inout MessageError?
  ) throws(JSONError) -> ShopPosition? {
    guard try reader.finds(.string, in: field.rawValue, noting: &fault) else { return nil }
    let position = ShopPosition(utf8: reader.utf8(of: try reader.scanString()))
    if position == nil { fault.note(.badIdentifier(field: field.rawValue)) }
    return position
  }

  private mutating func time(
    _ field: Field, from reader: inout JSONReader
  ) throws(JSONError) -> Timestamp? {
    guard let found = try string(field, from: &reader) else { return nil }
    let time = RFC3339.parseISO8601(reader.utf8(of: found))
    if time == nil { fault.note(.badDate(field: field.rawValue)) }
    return time
  }

  /// Checks that the shop is the expected one. UUIDs are compared without regard to letter case.
  private mutating func check(shop found: ArraySlice<UInt8>) {
    if let id = UUID128(utf8: found), id == UUID128(shop.text) { return }
    let text = String(decoding: found, as: UTF8.self)
    fault.note(ShopID(text) == nil ? .badIdentifier(field: "shop_id") : .wrongShop(found: text))
  }
}

extension ShopPosition {
  /// Returns whether this position follows another in the same epoch.
  public func isLater(than other: ShopPosition) -> Bool {
    epoch == other.epoch && offset > other.offset
  }
}

extension MessageLimits {
  /// Returns an error if a text is too long, or `nil` otherwise.
  package func fault(of text: String) -> MessageError? {
    // A text never has more scalars than bytes.
    guard text.utf8.count > maxCharacters else { return nil }
    let characters = text.unicodeScalars.count
    return characters > maxCharacters ? .textTooLong(characters: characters) : nil
  }

  /// Returns an error if every frame with a text is too long, or `nil` otherwise.
  ///
  /// The name of the author, exact times and positions make a frame longer, by about 150 bytes. So a
  /// server can still refuse a text for which this is `nil`.
  ///
  /// - Parameters:
  ///   - user: The author; `nil` if it is not known.
  ///   - isEdit: Whether the text is a new text of a message, whose frame has more members.
  package func fault(
    ofFrameWith text: String, in shop: ShopID, by user: String? = nil, isEdit: Bool
  ) -> MessageError? {
    // One byte becomes at most six (`\u0000`), and most frames are far from the limit.
    guard text.utf8.count * 6 + 1_024 > maxFrameBytes else { return nil }
    let (id, time) = (MessageID(high: 0, low: 0), Timestamp(nanoseconds: 0))
    let message = ShopMessage(
      id: id, shop: shop, user: user ?? "", username: nil, text: text, createdAt: time,
      updatedAt: isEdit ? time : nil, isEdited: isEdit)
    let bytes = StreamCodec.encode(isEdit ? .edited(message) : .posted(message)).count
    return bytes > maxFrameBytes ? .frameTooLong(bytes: bytes) : nil
  }
}

extension JSONReader {
  /// Reads a complete JSON text with `body`.
  package static func read<Value>(
    _ bytes: [UInt8], _ body: (inout JSONReader) throws(JSONError) -> Value
  ) throws(MessageError) -> Value {
    var reader = JSONReader(bytes)
    do throws(JSONError) {
      let value = try body(&reader)
      try reader.finish()
      return value
    } catch {
      throw .malformed(detail: "\(error.detail) at byte \(error.offset)")
    }
  }
}
