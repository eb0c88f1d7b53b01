import LinkCore

// How plans are written in files: spans as policies write theirs, what is usual may be left out.
extension Plan: Codable {
  private enum Keys: String, CodingKey {
    case seed, server, weather, actions, length
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Keys.self)
    self.init(
      seed: try container.decode(UInt64.self, forKey: .seed),
      server: try container.decode(ServerKind.self, forKey: .server),
      weather: try container.decodeIfPresent(Weather.self, forKey: .weather) ?? Weather(),
      actions: try container.decode([Planned].self, forKey: .actions),
      length: try container.span(.length))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Keys.self)
    try container.encode(seed, forKey: .seed)
    try container.encode(server, forKey: .server)
    try container.encode(weather, forKey: .weather)
    try container.encode(actions, forKey: .actions)
    try container.encode(length.text, forKey: .length)
  }
}

extension Planned: Codable {
  private enum Keys: String, CodingKey {
    case at, action
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Keys.self)
    self.init(
      at: try container.span(.at), try container.decode(Action.self, forKey: .action))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Keys.self)
    try container.encode(at.text, forKey: .at)
    try container.encode(action, forKey: .action)
  }
}

extension Weather: Codable {
  private enum Keys: String, CodingKey {
    case delay, jitter, bandwidth, loss, twice, slow, patience, ping, tokenLife, lateStamps
    case equalStamps, pages, history, historyPage, catchUpPage, memory, wallDrift
  }

  /// What is not there is as on a good day, so that older files go on to be read.
  public init(from decoder: any Decoder) throws {
    self.init()
    let container = try decoder.container(keyedBy: Keys.self)
    delay = try container.span(.delay, or: delay)
    jitter = try container.span(.jitter, or: jitter)
    bandwidth = try container.decodeIfPresent(Int64.self, forKey: .bandwidth) ?? bandwidth
    loss = try container.decodeIfPresent(Double.self, forKey: .loss) ?? loss
    twice = try container.decodeIfPresent(Double.self, forKey: .twice) ?? twice
    slow = try container.decodeIfPresent(Double.self, forKey: .slow) ?? slow
    patience = try container.span(.patience, or: patience)
    ping = try container.span(.ping, or: ping)
    tokenLife = try container.span(.tokenLife, or: tokenLife)
    lateStamps = try container.decodeIfPresent(Double.self, forKey: .lateStamps) ?? lateStamps
    equalStamps = try container.decodeIfPresent(Double.self, forKey: .equalStamps) ?? equalStamps
    pages = try container.decodeIfPresent(PageOrder.self, forKey: .pages) ?? pages
    history = try container.decodeIfPresent(Int.self, forKey: .history) ?? history
    historyPage = try container.decodeIfPresent(Int.self, forKey: .historyPage) ?? historyPage
    catchUpPage = try container.decodeIfPresent(Int.self, forKey: .catchUpPage) ?? catchUpPage
    memory = try container.decodeIfPresent(Int.self, forKey: .memory) ?? memory
    wallDrift = try container.decodeIfPresent(Double.self, forKey: .wallDrift) ?? wallDrift
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Keys.self)
    try container.encode(delay.text, forKey: .delay)
    try container.encode(jitter.text, forKey: .jitter)
    try container.encode(bandwidth, forKey: .bandwidth)
    try container.encode(loss, forKey: .loss)
    try container.encode(twice, forKey: .twice)
    try container.encode(slow, forKey: .slow)
    try container.encode(patience.text, forKey: .patience)
    try container.encode(ping.text, forKey: .ping)
    try container.encode(tokenLife.text, forKey: .tokenLife)
    try container.encode(lateStamps, forKey: .lateStamps)
    try container.encode(equalStamps, forKey: .equalStamps)
    try container.encode(pages, forKey: .pages)
    try container.encode(history, forKey: .history)
    try container.encode(historyPage, forKey: .historyPage)
    try container.encode(catchUpPage, forKey: .catchUpPage)
    try container.encode(memory, forKey: .memory)
    try container.encode(wallDrift, forKey: .wallDrift)
  }
}

extension KeyedDecodingContainer {
  /// A span such as `250ms`.
  fileprivate func span(_ key: Key) throws -> Duration {
    let text = try decode(String.self, forKey: key)
    guard let span = Duration(text: text) else {
      throw DecodingError.dataCorruptedError(
        forKey: key, in: self, debugDescription: "no span of time: \(text)")
    }
    return span
  }

  fileprivate func span(_ key: Key, or usual: Duration) throws -> Duration {
    contains(key) ? try span(key) : usual
  }
}
