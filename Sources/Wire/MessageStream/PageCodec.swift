import HoldfastJSON

/// A namespace for the encoding and decoding of answers of the paginated route.
package enum PageCodec {
  /// Reads an answer. It can be the complete envelope, only its `data`, or an envelope whose `data`
  /// is an array of messages.
  ///
  /// Entries that are not valid messages of `shop` are counted in `rejected`, and `fault` is the
  /// error of the first one. `messages: null` is an empty page. `next_cursor`, which some plain
  /// servers send, indicates that more messages follow. The limit on frame bytes does not apply.
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
    let capacity = JSONWriter.capacity(for: page.messages)
    return JSONWriter.envelope(status: 200, note: "", capacity: capacity) { writer in
      writer.beginObject()
      writer.key("messages")
      writer.messages(page.messages)
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
      if let head = page.head {
        writer.key("head")
        writer.string(head.description)
      }
      if page.head != nil || !page.recovered {
        writer.key("recovered")
        writer.bool(page.recovered)
      }
      writer.endObject()
    }
  }
}

extension PageQuery {
  fileprivate var pageAndLimit: (page: Int, limit: Int) {
    switch self {
    case .page(let number, let limit): (number, limit)
    case .since(_, let page, let limit): (page, limit)
    case .after(_, let limit), .before(_, let limit): (1, limit)
    }
  }
}

extension JSONWriter {
  mutating func messages(_ messages: [ShopMessage]) {
    beginArray()
    for message in messages { self.message(message) }
    endArray()
  }
}

/// The members of a page that have been read so far.
private struct PageReader {
  let shop: ShopID
  let limits: MessageLimits
  private var hasMessages = false
  private var messages: [ShopMessage] = []
  private var rejected = 0
  /// The error of the first rejected entry.
  private var firstFault: MessageError?
  private var hasNext = false
  private var hasCursor = false
  private var head: ShopPosition?
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
      messages: messages, hasNext: hasNext || hasCursor, head: head, recovered: recovered,
      rejected: rejected, fault: firstFault)
  }

  mutating func readObject(from reader: inout JSONReader) throws(JSONError) {
    try reader.beginObject()
    while let key = try reader.nextKey() {
      switch reader.text(of: key) {
      case "data": try readData(from: &reader)
      case "messages": try readMessages(from: &reader)
      case "pagination": try readPagination(from: &reader)
      case "next_cursor":
        hasCursor =
          try reader.finds(.string, in: "next_cursor", noting: &fault)
          ? reader.string() != "" : false
      case "head": try readHead(from: &reader)
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
    messages = []
    (rejected, firstFault) = (0, nil)
    guard try reader.finds(.array, in: "messages", noting: &fault) else { return }
    try reader.beginArray()
    while try reader.nextElement() {
      guard try reader.peek() == .object else {
        try reader.skipValue()
        reject(.wrongType(field: "an entry"))
        continue
      }
      var entry = MessageReader(shop: shop, limits: limits)
      try entry.readObject(from: &reader)
      do throws(MessageError) {
        messages.append(try entry.message())
      } catch {
        reject(error)
      }
    }
  }

  private mutating func reject(_ fault: MessageError) {
    rejected += 1
    firstFault = firstFault ?? fault
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

  private mutating func readHead(from reader: inout JSONReader) throws(JSONError) {
    head = nil
    guard try reader.finds(.string, in: "head", noting: &fault) else { return }
    head = ShopPosition(try reader.string())
    if head == nil { fault.note(.badIdentifier(field: "head")) }
  }
}
