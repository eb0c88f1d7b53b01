import LinkCore
import LinkWire
import MessageStream
import Testing

@testable import LinkSimulator

/// The second account of a phone of a message stream.
@Suite struct StreamPhoneTwinTests {
  private static let wall = Timestamp(nanoseconds: 1_768_000_000_000_000_000)

  private static func settings() throws -> StreamSettings {
    StreamSettings(shop: try #require(ShopID("shop")), policy: .messageStream)
  }

  private static func message(_ number: UInt64) throws -> Message {
    Message(
      id: UUID128(high: 0, low: number), shop: try #require(ShopID("shop")), user: "u",
      username: nil, text: "a", createdAt: wall)
  }

  @Test func `the account reads its store when it is opened and shows what is kept`() throws {
    var twin = StreamPhoneTwin(try Self.settings(), seed: 1)
    #expect(twin.step(.open(at: Self.wall), at: .zero) == [.load(limit: 1000)])
    let message = try Self.message(1)
    let shown = twin.step(.loaded(TimelineSnapshot(messages: [message])), at: .zero)
    #expect(shown.first == .update(.messages([message], via: .history)))
  }

  @Test func `the account tries to load again after a second`() throws {
    var twin = StreamPhoneTwin(try Self.settings(), seed: 1)
    _ = twin.step(.open(at: Self.wall), at: .zero)
    let failure = StoreFailure.locked(detail: "")
    #expect(twin.step(.loadFailed(failure), at: .zero) == [.update(.notice(.store(failure)))])
    #expect(twin.deadline == Instant.zero.advanced(by: .seconds(1)))
  }

  @Test func `the account of the writer waits twice as long each time`() {
    let waits = (1...7).map { StreamPhonePen.pause($0) }
    let must = [1, 2, 4, 8, 16, 30, 30].map { Duration.seconds($0) }
    #expect(waits == must)
  }

  @Test func `the account sees a newest page that comes three times`() throws {
    var sameness = StreamPhoneSameness()
    let page = Page(messages: [try Self.message(1)], hasNext: true)
    var answers: [Bool] = []
    for _ in 0..<3 {
      sameness.ask(nil)
      answers.append(sameness.isOver(page))
    }
    #expect(answers == [false, false, true])
  }

  @Test func `a phone that does something else is noticed`() throws {
    var model = StreamModel(settings: try Self.settings(), seed: 1)
    var twin = StreamPhoneTwin(try Self.settings(), seed: 1)
    let input = StreamModel.Input.open(at: Self.wall)
    let effects = model.handle(input, at: .zero)
    var other = twin
    #expect(other.stray(of: model, after: input, effects, at: .zero) == nil)
    #expect(twin.stray(of: model, after: input, [], at: .zero) != nil)
  }
}
