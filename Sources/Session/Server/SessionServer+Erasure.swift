import HoldfastCore
import HoldfastServerParts
package import HoldfastSessionData

// The erasure of a user, whose clients and conversations bear the user's name.
extension SessionServer {
  /// Ends everything of a user: sockets, clients, prompts and conversations. Programs that run for the
  /// user are cancelled.
  mutating func erase(_ user: String) {
    // A server that has ended stores nothing any more. The erasure goes on at the next start.
    guard mode != .finished else { return }
    for id in sockets.ids where sockets[id]?.user == user {
      close(id, .erased)
      for conversation in sockets[id]?.subscriptions.keys.sorted() ?? [] {
        unsubscribe(id, conversation)
      }
      // The socket waits for its close frame, and is no socket of a client any more.
      sockets.change(id) { $0.stage = .greeted(challenge: "") }
    }
    for id in prompts.ids where prompts[id]?.stored.isOf(user) == true {
      if prompts[id]?.stage == .running { effects.append(.cancel(id)) }
      disarm(.turn(id))
      prompts.remove(id)
      delay(.endPrompt(id))
    }
    for id in clients.keys.sorted() where SessionNames.split(id).user == user {
      clients[id] = nil
      delay(.endClient(id))
    }
    for id in conversations.ids where SessionNames.split(id).user == user {
      conversations.remove(id)
      delay(.endConversation(id))
    }
    store([])
    advanceQueue()
  }
}

extension StoredSessions {
  /// Returns whether a client, a prompt or a conversation is one of a user.
  package func contain(_ user: String) -> Bool {
    clients.keys.contains { SessionNames.split($0).user == user }
      || conversations.keys.contains { SessionNames.split($0).user == user }
      || prompts.values.contains { $0.isOf(user) }
  }
}

extension StoredSessionPrompt {
  /// Returns whether the prompt is one of a user.
  fileprivate func isOf(_ user: String) -> Bool {
    SessionNames.split(client).user == user
      || SessionNames.split(prompt.conversation).user == user
  }
}
