import HoldfastCore
import HoldfastPorts
import HoldfastTestKit

/// A scenario in which the token expires while the phone is connected.
struct TokenExpiry: DemoScenario {
  let name = "expiry"
  let title = "The token expires"
  let troubles = [Trouble.expiry]

  func play(on environment: isolated DemoEnvironment) async throws(DemoFailure) {
    let left = BootClock().wall.duration(to: environment.tokenEnd)
    guard left > .zero else {
      environment.note(.expiry, noticed: nil, whole: nil)
      return environment.say(
        .narration, "The token ran out in an earlier chapter, which took too long.")
    }
    environment.say(.phone, "stays connected; its token has \(left.seconds(1)) s left")
    try await environment.play(
      .expiry, at: .now + left, lasting: .zero,
      recovered: "has got a new token by itself, and is connected and whole again"
    ) { _ in
    } end: { environment in
      await environment.allShown()
    }
    try await environment.pause(.seconds(0.5))
  }
}

/// A scenario in which the server first refuses connections and then offers no stream, so that the
/// phone polls.
struct ServerRefusal: DemoScenario {
  let name = "refusal"
  let title = "Refused, polling, and back up"
  let troubles = [Trouble.refusal, .noStream]

  func play(on environment: isolated DemoEnvironment) async throws(DemoFailure) {
    try await environment.play(
      .refusal, lasting: .zero, recovered: "is whole by polling",
      begin: refuse
    ) { environment throws(DemoFailure) in
      let polls = try await environment.wait {
        $0[.messages].ending != nil || $0[.messages].status.isPolling
      }
      if polls != nil {
        environment.say(.phone, "asks over REST instead, every 1.5 s, for as long as it takes")
      }
      try await environment.pause(.seconds(1))
      try await environment.set(.pass)
      environment.say(
        .network, "lets connects through; the server answers, but offers no stream yet")
      return await environment.allShown { _ in true }
    }
    try await environment.pause(.seconds(1))
    try await environment.play(.noStream, lasting: .zero) { environment in
      await environment.server.crash()
    } end: { environment throws(DemoFailure) in
      try await environment.server.start()
      environment.say(.server, "offers its stream again; the phone's next probe will find it")
      return await environment.allShown()
    }
    try await environment.pause(.seconds(0.5))
  }

  private func refuse(on environment: isolated DemoEnvironment) async throws(DemoFailure) {
    try await environment.set(.reset)
    try await environment.set(.refuse)
    environment.say(.network, "refuses every connect")
    // Meanwhile, the server restarts without a stream.
    await environment.server.crash()
    try await environment.server.start(offersStream: false)
  }
}

extension Trouble {
  static let restart = Trouble("restart", "server restart") { policy, work in
    .init(
      noticed: work,
      whole: policy.retry.serverJitter + policy.longestRetry + work)
  }

  static let expiry = Trouble("expiry", "token expiry") { policy, work in
    .init(noticed: work, whole: policy.establish.timeout + work)
  }

  static let refusal = Trouble("refusal", "server refuses") { policy, work in
    .init(noticed: work, whole: policy.longestPoll(\.interval) + work)
  }

  static let noStream = Trouble("noStream", "only polling") { policy, work in
    .init(
      noticed: nil,
      whole: policy.longestPoll(\.slowProbe) + policy.establish.timeout + work)
  }
}
