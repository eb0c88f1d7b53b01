import HoldfastCore
import HoldfastJSON

@testable import HoldfastIdentity
@testable import HoldfastMessageData

/// The shop of all inputs.
enum Shop {
  static let id: ShopID = {
    guard let id = ShopID("s1") else { preconditionFailure("s1 is path-safe") }
    return id
  }()
}

/// The properties of a stream's frames, of posts, and of the answers to posts.
enum StreamProperty {
  /// Limits that permit any encoding of a decoded message.
  private static let wide = MessageLimits(maxFrameBytes: .max, maxCharacters: .max)

  static func check(_ bytes: [UInt8]) throws(Broken) {
    var choices = Choices(bytes)
    let limits =
      choices.byte() & 1 == 0
      ? MessageLimits() : MessageLimits(maxFrameBytes: 600, maxCharacters: 20)
    let text = Array(choices.rest)
    try frame(text, limits)
    try post(text, limits)
    try edit(text, limits)
    try answer(text, limits)
    if let note = Envelope.decodeNote(text) {
      try hold(1...300 ~= note.unicodeScalars.count, "a note is 1 to 300 characters")
    }
  }

  private static func frame(_ text: [UInt8], _ limits: MessageLimits) throws(Broken) {
    guard let frame = try? StreamCodec.decode(text, shop: Shop.id, limits: limits) else { return }
    try hold(text.count <= limits.maxFrameBytes, "no frame is beyond the limit")
    switch frame {
    case .message(let message):
      try isBounded(message, limits)
      let again = try? StreamCodec.decode(
        StreamCodec.encode(message), shop: Shop.id, limits: wide)
      try hold(again == .message(message), "a message that was read can be written")
    case .edited(let message):
      try isBounded(message, limits)
      try hold(message.changed != nil, "an edit has a position")
      let again = try? StreamCodec.decode(
        StreamCodec.encode(ShopEvent.edited(message)), shop: Shop.id, limits: wide)
      try hold(again == frame, "an edit that was read can be written")
    case .deleted(let deletion):
      try isBounded(deletion)
      let again = try? StreamCodec.decode(
        StreamCodec.encode(ShopEvent.deleted(deletion)), shop: Shop.id)
      try hold(again == frame, "a deletion that was read can be written")
    case .draining(let within):
      try hold(within >= .zero, "a drain is not in the past")
      let again = try? StreamCodec.decode(
        StreamCodec.encodeDraining(within: within), shop: Shop.id)
      try hold(again == frame, "a notice that was read can be written")
    case .unknown(let type):
      let isText = Array(type.utf8) == text
      try hold(isText || type != "draining", "a known type is not reported as unknown")
    }
  }

  static func isBounded(_ message: ShopMessage, _ limits: MessageLimits) throws(Broken) {
    try hold(message.shop == Shop.id, "a message is of its shop")
    try hold(1...256 ~= message.user.utf8.count, "a user id is 1 to 256 octets")
    try hold(
      message.text.unicodeScalars.count <= limits.maxCharacters, "no text is beyond the limit")
    try hold(message.username != "", "an empty name is none")
    if let changed = message.changed {
      let isLater = message.position.map { changed.isLater(than: $0) } ?? false
      try hold(isLater, "an edit follows its message")
    }
  }

  static func isBounded(_ deletion: ShopDeletion) throws(Broken) {
    try hold(deletion.shop == Shop.id, "a deletion is of its shop")
    try hold(
      deletion.changed.isLater(than: deletion.position), "a deletion follows its message")
  }

  private static func post(_ text: [UInt8], _ limits: MessageLimits) throws(Broken) {
    guard let post = try? NewMessage.decode(text, limits: limits) else { return }
    try hold(
      1...limits.maxCharacters ~= post.text.unicodeScalars.count, "a post is within the limit")
    let again = try? NewMessage.decode(post.encode(), limits: limits)
    try hold(again == post, "a post that was read can be written")
  }

  private static func edit(_ text: [UInt8], _ limits: MessageLimits) throws(Broken) {
    if let deletion = try? Envelope.decodeDeletion(text, shop: Shop.id) {
      try isBounded(deletion)
      let again = try? Envelope.decodeDeletion(
        Envelope.deletion(deletion, note: "x"), shop: Shop.id)
      try hold(again == deletion, "an answer to a deletion that was read can be written")
    }
    if let message = try? Envelope.decodeEdit(text, shop: Shop.id) {
      let again = try? Envelope.decodeEdit(
        Envelope.message(message, status: 200, note: "x"), shop: Shop.id)
      try hold(again == message, "an answer to an edit that was read can be written")
    }
    guard let edit = try? MessageEdit.decode(text, limits: limits) else { return }
    try hold(
      1...limits.maxCharacters ~= edit.text.unicodeScalars.count, "an edit is within the limit")
    let again = try? MessageEdit.decode(edit.encode(), limits: limits)
    try hold(again == edit, "the body of an edit that was read can be written")
  }

  private static func answer(_ text: [UInt8], _ limits: MessageLimits) throws(Broken) {
    guard let message = try? Envelope.decodeMessage(text, shop: Shop.id, limits: limits) else {
      return
    }
    try isBounded(message, limits)
    let again = try? Envelope.decodeMessage(
      Envelope.message(message, status: 201, note: "x"), shop: Shop.id, limits: limits)
    try hold(again == message, "an answer that was read can be written")
  }
}

/// The properties of the pages of a history.
enum PageProperty {
  static func check(_ bytes: [UInt8]) throws(Broken) {
    var choices = Choices(bytes)
    let limits = MessageLimits(maxCharacters: choices.byte() & 1 == 0 ? 10_000 : 20)
    guard var page = try? PageCodec.decode(Array(choices.rest), shop: Shop.id, limits: limits)
    else { return }
    for message in page.messages + page.changes { try StreamProperty.isBounded(message, limits) }
    for deletion in page.deleted { try StreamProperty.isBounded(deletion) }
    try hold(page.rejected >= 0, "the number of rejects is not negative")
    try hold((page.fault == nil) == (page.rejected == 0), "a reject has a reason")
    let written = PageCodec.encode(page, query: .page(number: 1, limit: 100), total: 1)
    (page.rejected, page.fault) = (0, nil)
    let again = try? PageCodec.decode(written, shop: Shop.id, limits: limits)
    try hold(again == page, "a page that was read can be written")
  }
}

/// A JSON value. A number that is not an integer becomes a string, since the writer only supports
/// integers.
private enum JSONTree: Equatable {
  case object([Member])
  case array([JSONTree])
  case string(String)
  case int(Int64)
  case bool(Bool)
  case null

  struct Member: Equatable {
    var key: String
    var value: JSONTree
  }

  init(from reader: inout JSONReader) throws(JSONError) {
    switch try reader.peek() {
    case .object:
      var members: [Member] = []
      try reader.beginObject()
      while let key = try reader.nextKey() {
        members.append(Member(key: reader.text(of: key), value: try JSONTree(from: &reader)))
      }
      self = .object(members)
    case .array:
      var elements: [JSONTree] = []
      try reader.beginArray()
      while try reader.nextElement() { elements.append(try JSONTree(from: &reader)) }
      self = .array(elements)
    case .string: self = .string(try reader.string())
    case .number: self = try reader.intIfWhole().map { .int($0) } ?? .string("a fraction")
    case .bool: self = .bool(try reader.bool())
    case .null:
      try reader.null()
      self = .null
    }
  }

  /// The number of nested levels.
  var depth: Int {
    switch self {
    case .object(let members): 1 + (members.map(\.value.depth).max() ?? 0)
    case .array(let elements): 1 + (elements.map(\.depth).max() ?? 0)
    case .string, .int, .bool, .null: 0
    }
  }

  func write(to writer: inout JSONWriter) {
    switch self {
    case .object(let members):
      writer.beginObject()
      for member in members {
        writer.key(member.key)
        member.value.write(to: &writer)
      }
      writer.endObject()
    case .array(let elements):
      writer.beginArray()
      for element in elements { element.write(to: &writer) }
      writer.endArray()
    case .string(let text): writer.string(text)
    case .int(let number): writer.int(number)
    case .bool(let value): writer.bool(value)
    case .null: writer.null()
    }
  }
}

/// The properties of arbitrary JSON texts.
enum JSONProperty {
  static func check(_ bytes: [UInt8]) throws(Broken) {
    let tree = read(bytes)
    try hold((tree != nil) == skips(bytes), "skipping is as strict as reading")
    if let number = double(bytes) { try hold(number.isFinite, "a number is finite") }
    guard let tree else { return }
    try hold(tree.depth <= JSONReader.maxDepth, "nesting has its bound")
    try hold(String(validating: bytes, as: UTF8.self) != nil, "a text is UTF-8")
    var writer = JSONWriter()
    tree.write(to: &writer)
    try hold(read(writer.bytes) == tree, "a text that was read can be written")
  }

  private static func read(_ bytes: [UInt8]) -> JSONTree? {
    var reader = JSONReader(bytes)
    guard let tree = try? JSONTree(from: &reader), (try? reader.finish()) != nil else {
      return nil
    }
    return tree
  }

  private static func skips(_ bytes: [UInt8]) -> Bool {
    var reader = JSONReader(bytes)
    return (try? reader.skipValue()) != nil && (try? reader.finish()) != nil
  }

  private static func double(_ bytes: [UInt8]) -> Double? {
    var reader = JSONReader(bytes)
    return try? reader.double()
  }
}

/// The properties of tokens that are split and parsed. Their signatures are not verified.
enum TokenProperty {
  static func check(_ bytes: [UInt8]) throws(Broken) {
    var choices = Choices(bytes)
    guard choices.byte() & 1 == 0 else { return try claims(Array(choices.rest)) }
    let text = String(decoding: choices.rest, as: UTF8.self)
    guard let token = try? CompactToken.parse(text) else { return }
    try hold(text.utf8.count <= CompactToken.maxBytes, "no token is beyond the limit")
    try hold(token.signature.count == 32, "a signature has 32 octets")
    let written = CompactToken.text(signingInput: token.signingInput, signature: token.signature)
    try hold(written == text, "a token has one spelling")
    try claims(token.payload)
  }

  private static func claims(_ payload: [UInt8]) throws(Broken) {
    guard let claims = try? Claims.decode(json: payload) else { return }
    try hold(1...256 ~= claims.user.utf8.count, "a user id is 1 to 256 octets")
    guard let again = try? Claims.decode(json: claims.encode()) else {
      throw Broken("claims that were read can be written")
    }
    try hold(
      (again.user, again.name, again.shops) == (claims.user, claims.name, claims.shops),
      "claims that were read can be written")
    // The limits of a timestamp are not whole seconds, so the first encoding can round them inward.
    try hold(again.expiresAt <= claims.expiresAt, "writing a token does not prolong it")
    try hold((try? Claims.decode(json: again.encode())) == again, "and then stays the same")
  }
}
