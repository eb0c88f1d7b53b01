import LinkHealth

// What of the relay is told a second time: see `Twin`.
extension RelayWorld {
  static var walks: [Walk] {
    [
      RelayWireWalk.steps(2), RelayKeptWalk.steps(2), MCPWireWalk.steps(2), MCPServerWalk.steps(48),
      RelayPhoneWalk.steps(300), RelayPullWalk.steps(500), RelayServerWalk.steps(90),
      RelayShapeWalk.steps(8),
    ]
  }
}

/// What `RelayPullWords` needs of the words of answers.
enum HealthWordsScribe {
  static func failure(_ reason: String) -> HealthObject { .failure(reason) }
}
