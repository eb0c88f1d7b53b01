import HoldfastCore
import HoldfastMessageData
import HoldfastMessageStream
import HoldfastWorlds
import Testing

@testable import HoldfastLinkChecks
@testable import HoldfastMessageChecks
@testable import HoldfastMessageWorld
@testable import HoldfastWorldKernel

struct TraceTests {
  private func lines(
    _ observations: [StreamObservation], findings: [Finding] = [], isVerbose: Bool = false
  ) throws -> [String] {
    var trace = Trace<StreamFeature>(findings: findings, isVerbose: isVerbose)
    let facts = try Facts.sample
    var lines: [TraceLine] = []
    for (second, observation) in observations.enumerated() {
      var now = facts
      now.now = .second(100 + Double(second) * 61.5)
      lines += trace.lines(for: observation, at: now.now)
    }
    return (lines + trace.end()).map(\.text)
  }

  @Test func `prints the time, actor and event of each line`() throws {
    let message = try ShopMessage.sample
    let trace = try lines([
      .launched(.phone, run: 1),
      .received(
        .phone, .opened(AttemptID(3), head: message.position), isLate: false,
        effects: [
          .update(.status(StreamStatus(LinkStatus(phase: .connected, mode: .live)))),
          .fetch(FetchID(4), .after(ShopPosition(epoch: "e", offset: 6), limit: 100)),
        ]),
      .fact(.accepted(message, isNew: true)),
      .began(ObservedEvent(Action(.crash, for: .seconds(90)))),
      .fact(
        .stored(
          TimelineChange(messages: [message], cursor: ShopCursor(position: message.position)),
          TimelineCommit(inserted: [message.id]))),
      .received(.phone, .frame(AttemptID(2), .message(message)), isLate: true, effects: []),
      .calm,
    ])
    #expect(
      trace == [
        "0:00:00.000  phone    launches the app",
        "0:01:01.500  network  connection 3 is open, newest is e:7",
        "0:01:01.500  screen   CONNECTED (live)",
        "0:01:01.500  app      asks (4) for what follows e:6",
        "0:02:03.000  server   accepts “hello” (e:7)",
        "0:03:04.500  plan     the server crashes, and is back after 1 min 30 s",
        "0:04:06.000  disk     keeps 1 message, 1 of them new, cursor at e:7",
        "0:05:07.500  network  connection 2 brings “hello” (e:7) "
          + "(late: it belongs to an older attempt)",
        "0:06:09.000  plan     calm: from now on nothing goes wrong any more",
      ])
  }

  @Test func `omits noise unless it is verbose`() throws {
    let noise: [StreamObservation] = [
      .ticked(.phone, effects: []),
      .received(
        .phone, .link(.ping(AttemptID(1)), at: ShopMessage.start), isLate: false,
        effects: []),
    ]
    #expect(try lines(noise) == [])
    #expect(
      try lines(noise, isVerbose: true) == [
        "0:00:00.000  app      looks at the clock",
        "0:01:01.500  network  connection 1 brings a ping",
      ])
  }

  @Test func `marks each finding at its time`() throws {
    let trace = try lines(
      [.killed(.phone), .resumed(.phone)],
      findings: [
        Finding(.stuck, at: .second(300), "at the end"), Finding(.lost, at: .second(100), "here"),
      ])
    #expect(
      trace == [
        "0:00:00.000  phone    kills the app",
        "0:00:00.000  FOUND    lost: here",
        "0:01:01.500  phone    resumes the app",
        "0:03:20.000  FOUND    stuck: at the end",
      ])
  }

  @Test(arguments: DayPreset.allCases) func `describes every event of every run`(preset: DayPreset)
  {
    for server in ServerKind.allCases {
      var lines: [TraceLine] = []
      _ = Trace<StreamFeature>.play(.drawn(preset, seed: 1, server: server)) {
        lines.append($0)
      }
      #expect(lines.allSatisfy { !$0.what.isEmpty && !$0.what.contains("Optional") })
      #expect(lines.map(\.at) == lines.map(\.at).sorted())
    }
  }
}

extension ShopMessage {
  static var sample: ShopMessage {
    get throws {
      ShopMessage(
        id: UUID128(high: 1, low: 2), shop: try #require(ShopID("bakery")), user: "ann",
        username: nil, text: "hello", createdAt: Timestamp(nanoseconds: 0),
        position: ShopPosition(epoch: "e", offset: 7))
    }
  }
}

extension Facts {
  static var sample: Facts {
    get throws {
      let shop = try #require(ShopID("bakery"))
      var facts = Facts(
        policy: .messageStream, status: LinkStatus(phase: .disconnected),
        own: StreamState(
          settings: StreamSettings(shop: shop, policy: .messageStream), server: .positions,
          memoryUse: MemoryUse(shown: 0, unsent: 0, unstored: 0, ahead: 0)))
      facts.isAwake = true
      facts.isWanted = true
      return facts
    }
  }
}
