import HoldfastBackend
import HoldfastCore
import HoldfastJSON
import HoldfastMessageData
import HoldfastPorts

/// The other users of the shop. They post messages continuously, and their connections bypass the
/// injected faults.
///
/// A post that receives no answer is repeated with the same key, so that it counts once.
actor Customers {
  /// The pause between two messages of a customer of the demo. The two customers post about ten
  /// messages a second each.
  static let pause = Duration.milliseconds(100)
  static let names = ["ann", "ben"]
  /// The ID of the shop.
  static let shop = "bakery"
  /// The time that a customer waits for an answer before the post is repeated.
  static let timeout = Duration.seconds(5)

  private let http: any HTTPClient
  private let pause: Duration
  private let accepted: @Sendable (MessageChecker.Entry) async -> Void
  private let server: String
  nonisolated let shop: ShopID
  private var generator: RandomSource
  /// The statuses of answers after which a post is repeated.
  private let repeatable: Set<Int>
  private var isOpen = true
  private var tokens: [String] = []
  private var writing: [Task<Void, Never>] = []
  private var strangeAnswer: String?
  /// The number of messages that the customers have posted, answered or not.
  private(set) var posted = 0

  /// Creates customers that do not write yet.
  ///
  /// - Parameters:
  ///   - pause: The mean pause between two messages of a customer.
  ///   - repeatable: The statuses of answers after which a post is repeated. A server that is
  ///     starting or busy answers with 503 or 429.
  ///   - accepted: A function that receives each message that the server accepted.
  init(
    http: any HTTPClient, server: String, seed: UInt64, pause: Duration = Customers.pause,
    repeatable: Set<Int> = [429, 503],
    accepted: @escaping @Sendable (MessageChecker.Entry) async -> Void
  ) throws(DemoFailure) {
    guard let shop = ShopID(Self.shop) else { throw .setup("the shop has no valid name") }
    (self.http, self.server, self.shop) = (http, server, shop)
    (self.pause, self.repeatable, self.accepted) = (pause, repeatable, accepted)
    generator = RandomSource(seed: seed)
  }

  /// Replaces the tokens, which the server no longer accepts.
  func renew(tokens: [String]) { self.tokens = tokens }

  func start(tokens: [String]) {
    self.tokens = tokens
    writing = tokens.indices.map { index in Task { await self.write(as: index) } }
  }

  /// Stops the customers after each has finished its current message.
  func stop() async {
    isOpen = false
    for task in writing { await task.value }
  }

  /// Stops all customers at once, without waiting for answers.
  func leave() async {
    for task in writing { task.cancel() }
    await stop()
  }

  /// Returns descriptions of what is wrong with the server's answers and with its log, which should
  /// have `count` messages.
  func faults(accepted count: Int) async -> [String] {
    let logged = await countInLog()
    let isEqual = logged == UInt64(count)
    let number = logged.map(String.init) ?? "an unknown number of"
    return (isEqual ? [] : ["the server's log holds \(number) messages"])
      + [strangeAnswer].compactMap(\.self)
  }

  /// Returns the number of messages in the log, according to the server; `nil` if the server does
  /// not answer.
  private func countInLog() async -> UInt64? {
    guard let token = tokens.first else { return nil }
    let answer = await ask(
      "GET", ShopRoute.paginated(shop).path, token: token,
      query: PageQuery.page(number: 1, limit: 1).parameters)
    guard let answer, answer.status == 200 else { return nil }
    // Offsets begin at 1 and have no gaps.
    return (try? PageCodec.decode(answer.body, shop: shop))?.head?.offset
  }

  private func ask(
    _ method: String, _ path: String, token: String,
    headers: [(name: String, value: String)] = [], query: [(name: String, value: String)] = [],
    body: [UInt8] = []
  ) async -> HTTPAnswer? {
    let headers = [(name: "Authorization", value: "Bearer \(token)")] + headers
    return try? await http.send(
      HTTPCall(
        method: method, url: server + path, headers: headers, query: query, body: body,
        timeout: Self.timeout, maxBodyBytes: 1 << 20))
  }

  private func write(as customer: Int) async {
    while isOpen {
      let text = Phrases.any(using: &generator)
      let key = UUID128.random(using: &generator)
      posted += 1
      while !Task.isCancelled {
        if let message = await post(text, key: key, token: tokens[customer]) {
          let entry = MessageChecker.Entry(
            key: message.key, text: text, offset: message.position?.offset)
          await accepted(entry)
          break
        }
        try? await Task.sleep(for: Self.pause)
      }
      if Task.isCancelled { return }
      try? await Task.sleep(for: pause * (0.5 + generator.unit()))
    }
  }

  private func post(_ text: String, key: UUID128, token: String) async -> ShopMessage? {
    let answer = await ask(
      "POST", ShopRoute.send.path, token: token,
      headers: [("Content-Type", "application/json"), ("Idempotency-Key", key.description)],
      body: NewMessage(shop: shop, text: text).encode())
    guard let answer else { return nil }
    guard answer.status == 201 || answer.status == 200 else {
      if !repeatable.contains(answer.status) {
        strangeAnswer = "a post was answered \(answer.status)"
      }
      return nil
    }
    return try? Envelope.decodeMessage(answer.body, shop: shop)
  }
}

/// The texts that customers post. Many are identical, and some are difficult to handle correctly.
enum Phrases {
  private static let usual = [
    "Is the sourdough ready?", "ok", "ok", "Two croissants, please", "On my way",
  ]
  private static let unusual = [
    "line one\nline two", "\"quoted\" \\ and {\"json\":[1,2]}", "Zażółć gęślą jaźń",
    "\u{1F469}\u{200D}\u{1F373} \u{1F950}", "\u{202E}right to left\u{202C}", "e\u{301} is not é",
    " ", String(repeating: "long ", count: 400), "\u{1}control\u{7F}",
  ]

  static func any(using generator: inout RandomSource) -> String {
    let list = generator.unit() < 0.2 ? unusual : usual
    return list[Int(generator.next() % UInt64(list.count))]
  }
}
