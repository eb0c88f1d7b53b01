import LinkCore
import LinkWire

/// How a client reads a page, told a second time: an envelope, its data alone, or a bare list.
struct StreamPageReading {
  let shop: ShopID
  let limits: MessageLimits
  private var fault: MessageError?
  private var entries: [SessionTree]?
  private var follows = false
  private var hasCursor = false
  private var head: Position?
  private var recovered = true

  init(_ shop: ShopID, _ limits: MessageLimits) { (self.shop, self.limits) = (shop, limits) }

  mutating func page(_ bytes: [UInt8]) throws(MessageError) -> Page {
    take(try StreamReading.object(bytes))
    if let fault { throw fault }
    guard let entries else { throw .missing(field: "messages") }
    var page = Page(messages: [], hasNext: follows || hasCursor, head: head, recovered: recovered)
    for entry in entries {
      do throws(MessageError) {
        guard case .object(let members) = entry else { throw .wrongType(field: "an entry") }
        var reading = StreamReading(shop, limits)
        page.messages.append(try reading.message(members))
      } catch {
        page.rejected += 1
        if page.fault == nil { page.fault = error }
      }
    }
    return page
  }

  private mutating func spoil(_ error: MessageError) { if fault == nil { fault = error } }

  private mutating func take(_ members: [SessionBranch]) {
    for member in members {
      switch (member.name, member.value) {
      case ("data", .list(let all)), ("messages", .list(let all)): entries = all
      case ("data", .object(let inner)): take(inner)
      case ("pagination", .object(let inner)): takePagination(inner)
      case ("head", .text(let text)):
        head = StreamReading.position(text)
        if head == nil { spoil(.badIdentifier(field: "head")) }
      case ("recovered", .flag(let flag)): recovered = flag
      case ("next_cursor", .text(let text)): hasCursor = !text.isEmpty
      case (_, let value):  // open set: names
        takeOdd(member.name, isNull: value == .null)
      }
    }
  }

  /// Takes a member whose value is of another type than it must be.
  private mutating func takeOdd(_ name: String, isNull: Bool) {
    let names = ["data", "messages", "pagination", "head", "recovered", "next_cursor"]
    guard names.contains(name) else { return }
    if !isNull { spoil(.wrongType(field: name)) }
    if name == "messages" { entries = [] }
    if name == "head" { head = nil }
    if name == "recovered" { recovered = true }
    if name == "next_cursor" { hasCursor = false }
  }

  private mutating func takePagination(_ members: [SessionBranch]) {
    for member in members where member.name == "has_next" {
      follows = member.value == .flag(true)
      switch member.value {
      case .flag, .null: continue
      case .object, .list, .text, .number: spoil(.wrongType(field: "has_next"))
      }
    }
  }
}
