import HoldfastCore
import HoldfastHealth

@testable import HoldfastRelayData
@testable import HoldfastRelayServer

/// The properties of the messages between phone and backend, of the bodies of pulls, and of the
/// answers in them.
enum RelayProperty {
  static func check(_ bytes: [UInt8]) throws(Broken) {
    var choices = Choices(bytes)
    let kind = choices.byte()
    let text = Array(choices.rest)
    switch kind % 5 {
    case 0: try backend(text)
    case 1: try phone(text)
    case 2: try pull(text)
    case 3: try reply(text)
    case _: try time(String(decoding: text, as: UTF8.self))
    }
  }

  private static func backend(_ text: [UInt8]) throws(Broken) {
    let message: BackendMessage
    do {
      message = try BackendMessage.read(text)
    } catch {
      return try refusal(error)
    }
    try same(try? BackendMessage.read(message.bytes), message)
  }

  /// Checks that the phone can report any decoding error to the caller.
  private static func refusal(_ error: RelayWireError) throws(Broken) {
    let answer = PhoneMessage.refusing(error)
    try hold(answer.id == error.id, "a refusal has the id of its request")
    try same(try? PhoneMessage.read(answer.bytes), answer)
  }

  private static func phone(_ text: [UInt8]) throws(Broken) {
    guard let message = try? PhoneMessage.read(text) else { return }
    try same(try? PhoneMessage.read(message.bytes), message)
    guard case .healthData(let id, let object) = message else { return }
    var assembly = HealthAssembly()
    var whole: HealthObject?
    for frame in PhoneMessage.frames(answering: .healthData, id, object, atMost: 1_024) {
      try hold(frame.bytes.count <= 1_024, "a frame keeps its limit")
      switch frame {
      case .part(_, let part): whole = (try? assembly.take(part, of: id)).flatMap(\.self)
      case .healthData(_, let object): whole = object
      case .summary, .types, .failure, .unknown: throw Broken("an answer is cut into its parts")
      }
    }
    try hold(whole == object, "an answer that was cut can be put together")
  }

  private static func pull(_ text: [UInt8]) throws(Broken) {
    if let order = try? LeaseRequest.read(text) {
      try same(try? LeaseRequest.read(order.bytes), order)
    }
    if var leased = try? LeasedQuestions.read(text) {
      leased.rejected = []
      try same(try? LeasedQuestions.read(leased.bytes), leased)
    }
    if let result = try? LeasedResult.read(text) {
      try same(try? LeasedResult.read(result.bytes), result)
    }
    if let order = try? SyncedOrder.read(text) {
      try same(try? SyncedOrder.read(order.bytes), order)
    }
    if let answer = try? SyncedAnswer.read(text) {
      try same(try? SyncedAnswer.read(answer.bytes), answer)
    }
    if let push = try? PushAddress.decode(text) {
      try same(try? PushAddress.decode(push.encode()), push)
    }
  }

  private static func reply(_ text: [UInt8]) throws(Broken) {
    if let reply = try? HealthReply.read(text) {
      let again = try? HealthReply.read(reply.object.bytes)
      try hold(again?.points == reply.points, "points that were read can be written")
    }
    if let reply = try? SummaryReply.read(text) {
      let again = try? SummaryReply.read(reply.object.bytes)
      try hold(again?.results == reply.results, "results that were read can be written")
    }
  }

  private static func time(_ text: String) throws(Broken) {
    guard let time = HealthTime(text) else { return }
    // With an offset, a time near the limits can exceed the range. No question asks for such times.
    switch time {
    case .instant(let moment, _?) where abs(moment.nanoseconds) > Int64.max - Int64(1e17): return
    case .instant, .local: try same(HealthTime(time.description), time)
    }
  }

  private static func same<Value: Equatable>(_ again: Value?, _ value: Value) throws(Broken) {
    try hold(again == value, "what was read can be written")
  }
}
