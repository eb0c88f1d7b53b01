import HoldfastCore
import HoldfastJSON

/// A namespace for the encoding and decoding of answers of the paginated route.
package enum PageCodec {
  /// Reads an answer. It can be the complete envelope, only its `data`, or an envelope whose `data`
  /// is an array of messages.
  ///
  /// Entries that are not valid messages of `shop` are counted in `rejected`, and `fault` is the
  /// error of the first one. `messages: null` is an empty page. `next_cursor`, which plain servers
  /// send, indicates that more messages follow. The limit on frame bytes does not apply.
  /// Throws an error if the body is not a page.
  package static func decode(
    _ body: [UInt8], shop: ShopID, limits: MessageLimits = MessageLimits()
  ) throws(MessageError) -> Page {
    let fields = try JSONReader.read(body) { (reader) throws(JSONError) in
      var fields = PageReader(shop: shop, limits: limits)
      try fields.readObject(from: &reader)
      return fields
    }
    return try fields.page()
  }

  /// Returns the complete envelope. `total` is the number of messages on all pages of the query.
  ///
  /// A page without a head is that of a plain server and does not report recovery. Queries by
  /// position have no page numbers: the answer is page 1, and only `page.hasNext` reports that more
  /// messages follow.
  package static func encode(_ page: Page, query: PageQuery, total: UInt64) -> [UInt8] {
    let (number, limit) = query.pageAndLimit
    let pages = total / UInt64(max(1, limit)) + (total % UInt64(max(1, limit)) > 0 ? 1 : 0)
    let capacity =
      JSONWriter.capacity(for: page.messages) + JSONWriter.capacity(for: page.changes)
      + page.deleted.count * 200
    return JSONWriter.envelope(status: 200, note: "", capacity: capacity) { writer in
      writer.beginObject()
      writer.key("messages")
      writer.messages(page.messages)
      if !query.isByID {
        writer.key("pagination")
        writer.beginObject()
        writer.key("page")
        writer.int(number)
        writer.key("limit")
        writer.int(limit)
        writer.key("total_pages")
        writer.int(max(1, pages))
        writer.key("has_next")
        writer.bool(page.hasNext)
        writer.key("has_prev")
        writer.bool(number > 1)
        writer.endObject()
      }
      writer.changes(of: page, query)
      writer.endObject()
    }
  }
}

extension PageQuery {
  fileprivate var pageAndLimit: (page: Int, limit: Int) {
    switch self {
    case .page(let number, let limit): (number, limit)
    case .since(_, let page, let limit): (page, limit)
    case .after(_, let limit), .before(_, let limit), .changes(_, let limit),
      .newest(_, let limit), .beforeID(_, let limit), .afterID(_, let limit):
      (1, limit)
    }
  }

  /// Whether the answer has a cursor instead of page numbers.
  fileprivate var isByID: Bool {
    switch self {
    case .beforeID, .afterID: true
    case .page, .since, .after, .before, .changes, .newest: false
    }
  }

  fileprivate var isNewest: Bool { if case .newest = self { true } else { false } }
}

extension JSONWriter {
  /// Writes the members of a page after its messages and page numbers.
  fileprivate mutating func changes(of page: Page, _ query: PageQuery) {
    if let cursor = page.nextCursor {
      key("next_cursor")
      string(cursor.description)
    }
    if query.isNewest || !page.changes.isEmpty {
      key("changes")
      messages(page.changes)
    }
    if query.needsEvents || !page.deleted.isEmpty {
      key("deleted")
      beginArray()
      for deletion in page.deleted { self.deletion(deletion) }
      endArray()
    }
    position("through", page.through)
    position("changes_through", page.changesThrough)
    position("head", page.head)
    position("oldest", page.oldest)
    if page.head != nil || !page.recovered {
      key("recovered")
      bool(page.recovered)
    }
  }

  private mutating func position(_ name: String, _ position: ShopPosition?) {
    guard let position else { return }
    key(name)
    string(position.description)
  }
}

extension JSONWriter {
  mutating func messages(_ messages: [ShopMessage]) {
    beginArray()
    for message in messages { self.message(message) }
    endArray()
  }
}

/// The entries of one list of a page.
private struct Entries<Entry> {
  var list: [Entry] = []
  var rejected = 0
  /// The error of the first rejected entry.
  var fault: MessageError?

  mutating func reject(_ error: MessageError) {
    rejected += 1
    fault.note(error)
  }

  /// Reads a list that replaces the earlier one. A value that is not an object is rejected, and so
  /// is an object that `entry` does not accept.
  mutating func read(
    _ name: String, from reader: inout JSONReader, noting fault: inout MessageError?,
    shop: ShopID, limits: MessageLimits, _ entry: (MessageReader) throws(MessageError) -> Entry
  ) throws(JSONError) {
    self = Entries()
    guard try reader.finds(.array, in: name, noting: &fault) else { return }
    try reader.beginArray()
    while try reader.nextElement() {
      guard try reader.peek() == .object else {
        try reader.skipValue()
        reject(.wrongType(field: "an entry"))
        continue
      }
      var fields = MessageReader(shop: shop, limits: limits)
      try fields.readObject(from: &reader)
      do throws(MessageError) {
        list.append(try entry(fields))
      } catch {
        reject(error)
      }
    }
  }
}

/// The members of a page that have been read so far.
private struct PageReader {
  let shop: ShopID
  let limits: MessageLimits
  private var hasMessages = false
  private var messages = Entries<ShopMessage>()
  private var changes = Entries<ShopMessage>()
  private var deleted = Entries<ShopDeletion>()
  private var hasNext = false
  private var cursor: String?
  private var head: ShopPosition?
  private var through: ShopPosition?
  private var changesThrough: ShopPosition?
  private var oldest: ShopPosition?
  private var recovered = true
  private var fault: MessageError?

  init(shop: ShopID, limits: MessageLimits) {
    self.shop = shop
    self.limits = limits
  }

  func page() throws(MessageError) -> Page {
    if let fault { throw fault }
    guard hasMessages else { throw .missing(field: "messages") }
    return Page(
      messages: messages.list, hasNext: hasNext || cursor != nil, head: head,
      recovered: recovered, rejected: messages.rejected + changes.rejected + deleted.rejected,
      fault: messages.fault ?? changes.fault ?? deleted.fault, deleted: deleted.list,
      through: through, changes: changes.list, changesThrough: changesThrough,
      nextCursor: cursor.flatMap { MessageID($0) }, oldest: oldest)
  }

  mutating func readObject(from reader: inout JSONReader) throws(JSONError) {
    try reader.beginObject()
    while let key = try reader.nextKey() {
      switch reader.text(of: key) {
      case "data": try readData(from: &reader)
      case "messages": try readMessages(from: &reader)
      case "pagination": try readPagination(from: &reader)
      case "next_cursor":
        let found = try reader.finds(.string, in: "next_cursor", noting: &fault)
        let text = found ? try reader.string() : ""
        cursor = text.isEmpty ? nil : text
      case "changes":
        try changes.read(
          "changes", from: &reader, noting: &fault, shop: shop, limits: limits
        ) { (fields) throws(MessageError) in try fields.message() }
      case "deleted":
        try deleted.read(
          "deleted", from: &reader, noting: &fault, shop: shop, limits: limits
        ) { (fields) throws(MessageError) in try fields.deletion(isNotice: false) }
      case "head": head = try position("head", from: &reader)
      case "oldest": oldest = try position("oldest", from: &reader)
      case "through": through = try position("through", from: &reader)
      case "changes_through":
        changesThrough = try position("changes_through", from: &reader)
      case "recovered":
        recovered = try reader.finds(.bool, in: "recovered", noting: &fault) ? reader.bool() : true
      case _: try reader.skipValue()
      }
    }
  }

  private mutating func readData(from reader: inout JSONReader) throws(JSONError) {
    if try reader.peek() == .array {
      try readMessages(from: &reader)
    } else if try reader.finds(.object, in: "data", noting: &fault) {
      try readObject(from: &reader)
    }
  }

  private mutating func readMessages(from reader: inout JSONReader) throws(JSONError) {
    hasMessages = true
    try messages.read(
      "messages", from: &reader, noting: &fault, shop: shop, limits: limits
    ) { (fields) throws(MessageError) in try fields.message() }
  }

  private mutating func readPagination(from reader: inout JSONReader) throws(JSONError) {
    guard try reader.finds(.object, in: "pagination", noting: &fault) else { return }
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if reader.matches(key, "has_next") {
        hasNext = try reader.finds(.bool, in: "has_next", noting: &fault) ? reader.bool() : false
      } else {
        try reader.skipValue()
      }
    }
  }

  private mutating func position(
    _ name: String, from reader: inout JSONReader
  ) throws(JSONError) -> ShopPosition? {
    guard try reader.finds(.string, in: name, noting: &fault) else { return nil }
    let position = ShopPosition(try reader.string())
    if position == nil { fault.note(.badIdentifier(field: name)) }
    return position
  }
}
