public import LinkCore
public import LinkWire

extension HealthPull {
  /// Returns the assistants that are paired with this phone.
  ///
  /// - Throws: the failure of the exchange; `.http` with 401 if the token has expired, and with 404
  ///   if the backend has no such list.
  public func assistants() async throws(LinkFailure) -> PairedAssistants {
    try await api.assistants(.list)
  }

  /// Ends the pairings of an order and returns the assistants that are still paired.
  ///
  /// - Throws: as `assistants()`; `.http` with 404 if no assistant has the id.
  public func endAssistants(
    _ order: AssistantsOrder
  ) async throws(LinkFailure) -> PairedAssistants {
    try await api.assistants(order)
  }
}
