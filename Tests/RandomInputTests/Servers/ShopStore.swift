import HoldfastCore
import HoldfastMessageData
import HoldfastMessageServer

@testable import HoldfastServerParts

/// A message store that executes each request immediately or when it is answered.
struct ShopStore {
  enum Question {
    case head
    case heads([ShopID])
    case page(PageQuery)
    case append(LogRequest)
    case shop(MessageID)
    case forget
  }

  /// A request without an answer. If the request was already executed, `answer` is its result.
  struct Open {
    let token: StoreToken
    let shop: ShopID
    let question: Question
    var answer: ShopServer.StoreAnswer?

    var isAppend: Bool { if case .append = question { true } else { false } }
  }

  private var logs: [ShopID: StoredLog] = [:]
  private(set) var open: [Open] = []
  private var written: UInt64 = 0
  let isPlain: Bool

  init(isPlain: Bool) { self.isPlain = isPlain }

  func log(_ shop: ShopID) -> StoredLog { logs[shop] ?? StoredLog(epoch: "e") }

  mutating func ask(_ token: StoreToken, _ shop: ShopID, _ question: Question, atOnce: Bool) {
    var asked = Open(token: token, shop: shop, question: question)
    if atOnce { asked.answer = carryOut(asked) }
    open.append(asked)
  }

  /// Removes and returns a request. Appends of the same shop are returned in order.
  mutating func take(_ index: Int) -> Open {
    let asked = open[index]
    let first = open.firstIndex { $0.isAppend && $0.shop == asked.shop }
    return open.remove(at: asked.isAppend ? first ?? index : index)
  }

  mutating func carryOut(_ asked: Open) -> ShopServer.StoreAnswer {
    if let answer = asked.answer { return answer }
    var log = log(asked.shop)
    defer { logs[asked.shop] = log }
    switch asked.question {
    case .head: return .head(log.head, newest: log.messages.last?.createdAt)
    case .heads(let shops):
      return .heads(shops.map { logs[$0]?.head ?? StoredLog(epoch: "e").head })
    case .page(let query):
      return .page(log.page(query, byTime: isPlain), total: log.count(query))
    case .append(let change):
      switch log.append(change) {
      case .success(let outcome): return .appended(outcome)
      case .failure(let failure): return .failed(failure)
      }
    case .shop(let id):
      return .shop(logs.filter { $0.value.messages.contains { $0.id == id } }.keys.min())
    case .forget: return .forgotten
    }
  }

  /// Appends a message that another program wrote to the log of a shop.
  mutating func write(_ shop: ShopID, at time: Timestamp) {
    written += 1
    let message = ShopMessage(
      id: UUID128(high: 7, low: written), shop: shop, user: "z", username: "Z", text: "other",
      createdAt: Timestamp(nanoseconds: time.nanoseconds / 1_000 * 1_000))
    var log = log(shop)
    _ = log.append(LogEntry(message: message, key: nil))
    logs[shop] = log
  }

  /// Starts a new epoch of a shop's log, which keeps only the newest messages.
  mutating func begin(_ shop: ShopID, keeping count: Int) {
    written += 1
    var log = log(shop)
    log.begin(epoch: "e\(written)", keeping: count)
    logs[shop] = log
  }
}
