public import HoldfastCore
import HoldfastIdentity
public import HoldfastMessageData

// What the operator's backend decides about before the server gets an input.
extension ShopServer {
  /// Returns the post or edit of an input; `nil` if there is none, or if the server would refuse it in
  /// any case.
  ///
  /// - Parameter fresh: A random ID for a new message. It is called at most once.
  public func post(in input: Input, fresh: () -> MessageID) -> (RequestID, HookPost)? {
    guard case .request(let id, let call, let credential, let wall) = input,
      let claims = claims(credential, wall: wall)
    else { return nil }
    switch call {
    case .send(let draft):
      guard isMember(claims, of: draft.shop) else { return nil }
      let post = HookPost(
        id: fresh(), key: draft.key, user: claims.user, shop: draft.shop.text,
        content: draft.content)
      return (id, post)
    case .edit(let revision):
      let post = HookPost(
        id: revision.id, key: revision.key, isEdit: true, user: claims.user,
        shop: revision.shop?.text, content: MessageContent(revision.text))
      return (id, post)
    case .delete, .all, .page, .streamHealth, .refused: return nil
    }
  }

  /// Returns the connection of an upgrade; `nil` for another input, or if the server would refuse the
  /// upgrade in any case.
  public func arrival(in input: Input) -> ConnectionID? {
    guard case .upgrade(let id, let shop, _, _, let credential, let wall) = input,
      let claims = claims(credential, wall: wall), isMember(claims, of: shop),
      noRoom(for: claims.user) == nil
    else { return nil }
    return id
  }

  /// Returns the claims of a token that is valid now; `nil` if the server refuses all requests.
  private func claims(_ credential: Credential, wall: Timestamp) -> Claims? {
    guard goingAway == nil else { return nil }
    return try? credential.checked(at: wall, leeway: policy.clockLeeway).get()
  }
}

extension ShopServer.Input {
  /// Returns the input as it is after the operator's backend has allowed it: with the ID that the
  /// backend knows of a new message, and with the present time.
  public func allowed(as message: MessageID?, wall: Timestamp) -> Self {
    switch self {
    case .request(let id, .send(var draft), let credential, _):
      draft.id = message
      return .request(id, .send(draft), credential, wall: wall)
    case .request(let id, let call, let credential, _):
      return .request(id, call, credential, wall: wall)
    case .upgrade(let id, let shop, let after, let events, let credential, _):
      return .upgrade(id, shop, after: after, events: events, credential, wall: wall)
    case .abandoned, .received, .overflowed, .gone, .stored, .removed, .removals, .nodes, .drain:
      return self
    }
  }
}
