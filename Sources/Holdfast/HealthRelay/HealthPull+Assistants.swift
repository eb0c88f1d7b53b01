public import LinkCore
public import LinkWire

extension HealthPull {
  /// Ends the pairings of an order, by default of none, and returns the assistants that are paired
  /// with this phone then.
  ///
  /// - Throws: the failure of the exchange; `.http` with 401 if the token has expired, and with 404
  ///   if the backend has no such list or no assistant has the id.
  public func assistants(
    _ order: AssistantsOrder = .list
  ) async throws(LinkFailure) -> PairedAssistants {
    try await api.assistants(order)
  }
}
