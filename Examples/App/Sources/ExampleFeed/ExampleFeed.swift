import HoldfastSocket

/// Shows the texts of a feed and returns why it ended, using only the product HoldfastSocket.
public func follow(
  _ url: String, token: any TokenSource, show: (String) async -> Void
) async throws(LinkFailure) -> LinkStatus.Reason? {
  var options = SocketOptions()
  options.tokens = token
  options.lifecycle = HoldfastPlatform.lifecycle()
  options.outbox = .memory
  let socket = try await HeldSocket(url, policy: .socket, options: options)
  for await event in socket {
    switch event {
    case .text(let text): await show(text)
    case .status(let status) where status.phase == .failed:
      await socket.close()
      return status.reason
    case .status, .quality, .sent, .notice, .binary: continue
    }
  }
  return nil
}
