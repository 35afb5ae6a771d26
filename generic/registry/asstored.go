package registry

func (s *Store[T]) asStored(obj T) {}
