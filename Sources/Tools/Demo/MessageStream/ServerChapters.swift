import HoldfastTestKit
import LinkCore
import LinkRuntime

/// A scenario in which the token expires while the phone is connected.
struct TokenExpiry: Chapter {
  let name = "expiry"
  let title = "The token expires"
  let troubles = [Trouble.expiry]

  func play(on stage: isolated Stage) async throws(DemoFailure) {
    let left = BootClock().wall.duration(to: stage.tokenEnd)
    guard left > .zero else {
      stage.note(.expiry, noticed: nil, whole: nil)
      return stage.say(.story, "The token ran out in an earlier chapter, which took too long.")
    }
    stage.say(.phone, "stays connected; its token has \(left.seconds(1)) s left")
    try await stage.play(
      .expiry, at: .now + left, lasting: .zero,
      recovered: "has got a new token by itself, and is connected and whole again"
    ) { _ in
    } end: { stage in
      await stage.allShown()
    }
    try await stage.pause(.seconds(0.5))
  }
}

/// A scenario in which the server refuses connections and then offers no stream, so that the phone
/// polls.
struct ServerRefusal: Chapter {
  let name = "refusal"
  let title = "Refused, polling, and back up"
  let troubles = [Trouble.refusal, .noStream]

  func play(on stage: isolated Stage) async throws(DemoFailure) {
    try await stage.play(
      .refusal, lasting: .zero, recovered: "is whole by polling",
      begin: refuse
    ) { stage throws(DemoFailure) in
      let polls = try await stage.wait {
        $0[.messages].ending != nil || $0[.messages].status.isPolling
      }
      if polls != nil {
        stage.say(.phone, "asks over REST instead, every 1.5 s, for as long as it takes")
      }
      try await stage.pause(.seconds(1))
      try await stage.set(.pass)
      stage.say(.network, "lets connects through; the server answers, but offers no stream yet")
      return await stage.allShown { _ in true }
    }
    try await stage.pause(.seconds(1))
    try await stage.play(.noStream, lasting: .zero) { stage in
      await stage.server.crash()
    } end: { stage throws(DemoFailure) in
      try await stage.server.start()
      stage.say(.server, "offers its stream again; the phone's next probe will find it")
      return await stage.allShown()
    }
    try await stage.pause(.seconds(0.5))
  }

  private func refuse(on stage: isolated Stage) async throws(DemoFailure) {
    try await stage.set(.reset)
    try await stage.set(.refuse)
    stage.say(.network, "refuses every connect")
    // Meanwhile the server restarts without a stream.
    await stage.server.crash()
    try await stage.server.start(offersStream: false)
  }
}

extension Trouble {
  static let restart = Trouble("restart", "server restart") {
    .init(
      noticed: DemoPolicy.work,
      whole: $0.retry.serverJitter + $0.longestRetry + DemoPolicy.work)
  }

  static let expiry = Trouble("expiry", "token expiry") {
    .init(noticed: DemoPolicy.work, whole: $0.establish.timeout + DemoPolicy.work)
  }

  static let refusal = Trouble("refusal", "server refuses") {
    .init(noticed: DemoPolicy.work, whole: $0.longestPoll(\.interval) + DemoPolicy.work)
  }

  static let noStream = Trouble("noStream", "only polling") {
    .init(
      noticed: nil,
      whole: $0.longestPoll(\.slowProbe) + $0.establish.timeout + DemoPolicy.work)
  }
}
