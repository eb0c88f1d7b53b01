import HoldfastSocket

/// Shows the texts of a feed until no retry can help, using only the product HoldfastSocket.
public func follow(
  _ url: String, tokens: TokenSource, show: (String) async -> Void
) async throws {
  var configuration = SocketConfiguration(url)
  configuration.tokens = tokens
  configuration.outbox = .memory
  let socket = try await HeldSocket(configuration)
  for await case .text(let text) in socket { await show(text) }
  if let failure = socket.failure { throw failure }
}
