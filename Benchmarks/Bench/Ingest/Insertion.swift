import HoldfastCore
import HoldfastMessageData
import HoldfastMessageStream

/// The cost in the state machine of adding one message to a full timeline.
///
/// It comprises the step that handles the frame and the step that shows the message.
enum Insertion {
  static func benchmark(count: Int) -> Benchmark {
    Benchmark(
      name: "insertion",
      question: "the 99th percentile of \(count) insertions into a timeline of 1,000",
      unit: "ms", better: .less,
      subject: Contender(name: "at its end, and every tenth up to 40 places before") {
        var bench = try InsertionBench()
        return Statistics.quantile(0.99, of: try (0..<count).map { try bench.insert($0) })
      },
      peers: [Contender(name: "one frame at 60 Hz", aim: 0.1) { 16 }])
  }
}

/// A model whose store, server and socket respond immediately.
private struct InsertionBench {
  private var model: StreamModel
  private let canned: CannedShop
  private var attempt: AttemptID?
  private var spent = Duration.zero
  private var shown = 0

  init() throws {
    canned = try CannedShop(1000)
    model = StreamModel(
      settings: StreamSettings(shop: canned.shop, policy: .messageStream), seed: 1)
    let start = Timestamp(nanoseconds: 0)
    give(.link(.device(.reachability(.reachable(path: PathID("wifi")))), at: start))
    give(.link(.device(.lifecycle(.foreground)), at: start))
    give(.credentials(.available(expiresIn: nil)))
    give(.open(at: start))
    guard attempt != nil, model.timeline.messages.count == 1000 else {
      throw Unavailable("the model did not connect")
    }
  }

  /// Inserts one message, and returns the time in milliseconds.
  mutating func insert(_ number: Int) throws -> Double {
    guard let attempt, let last = canned.messages.last else { throw Unavailable("no socket") }
    var mixer = RandomSource(seed: UInt64(number) + 1_000_000)
    let late = number.isMultiple(of: 10) ? Int64(mixer.next() % 40) : 0
    var message = last
    message.id = UUID128(high: mixer.next(), low: mixer.next())
    message.createdAt = last.createdAt.advanced(by: .seconds(Int64(number) + 1 - late))
    message.position = ShopPosition(epoch: CannedShop.epoch, offset: 1001 + UInt64(number))
    (spent, shown) = (.zero, 0)
    give(.frame(attempt, .message(message)))
    guard shown == 1 else { throw Unavailable("a message was not shown") }
    return spent.inSeconds * 1000
  }

  /// Handles an input and the responses to its effects. Only the time spent in the model is
  /// measured.
  private mutating func give(_ input: StreamModel.Input) {
    let start = ContinuousClock.now
    let effects = model.handle(input, at: Instant(nanoseconds: 1))
    spent += start.duration(to: .now)
    for effect in effects {
      if case .update(.messages(let messages, via: _)) = effect { shown += messages.count }
      if let answer = answer(to: effect) { give(answer) }
    }
  }

  private mutating func answer(to effect: StreamModel.Effect) -> StreamModel.Input? {
    let head = ShopPosition(epoch: CannedShop.epoch, offset: 1000)
    switch effect {
    case .open(let attempt, _):
      self.attempt = attempt
      return .opened(attempt, head: head)
    case .fetch(let id, _): return .fetched(id, Page(messages: [], hasNext: false, head: head))
    case .load:
      return .loaded(
        TimelineSnapshot(messages: canned.messages, cursor: ShopCursor(position: head)))
    case .commit(let id, let change):
      return .committed(id, TimelineCommit(inserted: change.messages.map(\.id)))
    case .close, .ping, .refreshCredentials, .post, .upload, .readOlder, .update: return nil
    }
  }
}
