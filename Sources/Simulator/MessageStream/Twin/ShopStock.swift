import LinkCore
import LinkServerCore
import LinkWire

/// A store of messages that answers when it is told to, and not always well.
struct ShopStock: Sendable {
  /// What it was asked and has not answered.
  struct Order: Sendable {
    let token: StoreToken
    let shop: ShopID
    let wish: Wish
  }

  enum Wish: Sendable {
    case head
    case page(PageQuery)
    case append(LogEntry)
    /// Carried out; only the answer is missing.
    case done(ShopServer.StoreAnswer, isAppend: Bool)
  }

  private(set) var logs: [ShopID: KeptLog] = [:]
  private(set) var orders: [Order] = []
  private var epochs = 0
  private var strangers: UInt64 = 0
  let isPlain: Bool

  init(isPlain: Bool) { self.isPlain = isPlain }

  func log(_ shop: ShopID) -> KeptLog { logs[shop] ?? KeptLog(epoch: "e") }

  /// Takes what the server asks for; returns whether it was for the store.
  mutating func take(_ effect: ShopServer.Effect, atOnce: Bool) {
    switch effect {
    case .append(let appends):
      for append in appends {
        let entry = LogEntry(message: append.message, key: append.key)
        add(append.token, append.message.shop, .append(entry), atOnce)
      }
    case .page(let token, let shop, let query): add(token, shop, .page(query), atOnce)
    case .head(let token, let shop): add(token, shop, .head, false)
    case .answer, .accept, .refuse, .send, .ping, .close, .drop, .finished: return
    }
  }

  private mutating func add(_ token: StoreToken, _ shop: ShopID, _ wish: Wish, _ atOnce: Bool) {
    var wish = wish
    if atOnce {
      var isAppend = false
      if case .append = wish { isAppend = true }
      wish = .done(carryOut(wish, shop), isAppend: isAppend)
    }
    orders.append(Order(token: token, shop: shop, wish: wish))
  }

  /// Takes one of the orders away; of the appends of a shop always the first one.
  mutating func next(_ place: Int) -> Order {
    let order = orders[place]
    guard order.isAppend else { return orders.remove(at: place) }
    let first = orders.firstIndex { $0.isAppend && $0.shop == order.shop }
    return orders.remove(at: first ?? place)
  }

  mutating func carryOut(_ wish: Wish, _ shop: ShopID) -> ShopServer.StoreAnswer {
    var log = log(shop)
    defer { logs[shop] = log }
    switch wish {
    case .done(let answer, _): return answer
    case .head: return .head(log.head, newest: log.messages.last?.createdAt)
    case .page(let query):
      return .page(log.page(query, byTime: isPlain), total: log.count(query))
    case .append(let entry):
      switch log.append(entry) {
      case .success(let appended): return .appended(appended.message, isNew: appended.isNew)
      case .failure(let failure): return .failed(failure)
      }
    }
  }

  /// Another program writes to the log of a shop.
  mutating func write(_ shop: ShopID, at time: Timestamp, text: String = "other") {
    strangers += 1
    let whole = Timestamp(nanoseconds: time.nanoseconds / 1_000 * 1_000)
    let message = Message(
      id: UUID128(high: 7, low: strangers), shop: shop, user: "z", username: "Z", text: text,
      createdAt: whole)
    var log = log(shop)
    _ = log.append(LogEntry(message: message, key: nil))
    logs[shop] = log
  }

  /// The log of a shop begins anew behind its newest messages.
  mutating func begin(_ shop: ShopID, keeping count: Int) {
    epochs += 1
    var log = log(shop)
    log.begin(epoch: "e\(epochs)", keeping: count)
    logs[shop] = log
  }
}

extension ShopStock.Order {
  var isAppend: Bool {
    switch wish {
    case .append: true
    case .done(_, let isAppend): isAppend
    case .head, .page: false
    }
  }
}
