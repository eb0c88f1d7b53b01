public import LinkSimulator

extension Simulation<StreamFeature> {
  /// Plays with a model of your own in place of `StreamModel`.
  public func with<Client: StreamClient>(_ client: Client.Type) -> Simulation {
    var changed = self
    changed.player = { StreamFeature.play($0, $1, as: Client.self) }
    return changed
  }
}
