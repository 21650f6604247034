import pytest

pytestmark = pytest.mark.core


def rounds_of(dataset, replicas):
    """The rounds, each a list of (batch, real, examples), with the header apart."""
    import tensorflow as tf
    from genever.estimators.rounds import in_rounds

    told = [
        (tf.nest.map_structure(lambda t: t, batch), int(real), int(examples))
        for batch, (real, examples) in in_rounds(dataset, replicas)
    ]
    rounds = [told[at : at + replicas] for at in range(0, len(told), replicas)]
    return rounds[0], rounds[1:]


@pytest.mark.parametrize("replicas", [1, 2, 3, 4])
@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 8, 11, 12, 13, 29])
def test_each_batch_comes_once_in_order_and_is_announced_a_round_before(size, replicas):
    import tensorflow as tf

    header, rounds = rounds_of(tf.data.Dataset.range(size).batch(4), replicas)
    batches = [batch.numpy().tolist() for row in rounds for batch, _, _ in row]
    assert batches == [list(range(at, min(at + 4, size))) for at in range(0, size, 4)]
    for before, row in zip([header, *rounds], [*rounds, []], strict=True):
        held = [len(batch) for batch, _, _ in row]
        assert sum(real for _, real, _ in before) == len(row)
        assert [examples for _, real, examples in before if real] == held
        assert [real for _, real, _ in before] == ([1] * len(row) + [0] * replicas)[: len(before)]


def a_dict_with_labels():
    import tensorflow as tf

    numbers = tf.data.Dataset.range(10)
    return numbers.map(
        lambda x: ({"n": x, "s": tf.strings.as_string(x), "v": tf.fill([2], x)}, x)
    ).batch(3)


def of_a_fixed_size():
    import tensorflow as tf

    return tf.data.Dataset.range(10).batch(3, drop_remainder=True)


def sparse():
    import tensorflow as tf

    return tf.data.Dataset.range(10).map(lambda x: tf.sparse.from_dense([x, 0, x + 1])).batch(3)


def ragged():
    import tensorflow as tf

    return (
        tf.data.Dataset.range(10)
        .map(lambda x: {"r": tf.RaggedTensor.from_row_lengths(tf.range(x), [x])})
        .batch(3)
    )


def of_no_known_shape():
    import tensorflow as tf

    def batches():
        for size in (3, 1, 2):
            yield [[float(size)] * 2] * size

    return tf.data.Dataset.from_generator(batches, tf.float32)


@pytest.mark.parametrize(
    "make", [a_dict_with_labels, of_a_fixed_size, sparse, ragged, of_no_known_shape]
)
def test_batches_of_any_structure_come_through_as_they_are(make):
    import tensorflow as tf

    def plain(batch):
        def value(part):
            if isinstance(part, tf.SparseTensor):
                part = tf.sparse.to_dense(part)
            return part.to_list() if isinstance(part, tf.RaggedTensor) else part.numpy().tolist()

        return tf.nest.map_structure(value, batch)

    dataset = make()
    _, rounds = rounds_of(dataset, 2)
    got = [plain(batch) for row in rounds for batch, _, _ in row]
    assert len(got) >= 3
    assert got == [plain(batch) for batch in dataset]


def test_examples_of_sparse_and_ragged_batches_are_counted():
    for make in (sparse, ragged):
        header, rounds = rounds_of(make(), 2)
        assert [examples for row in [header, *rounds] for _, real, examples in row if real] == [
            3,
            3,
            3,
            1,
        ]


def test_the_input_is_opened_once():
    import tensorflow as tf

    opened = []

    def batches():
        opened.append(1)
        yield from ([1], [2], [3])

    dataset = tf.data.Dataset.from_generator(
        batches, output_signature=tf.TensorSpec([None], tf.int32)
    )
    _, rounds = rounds_of(dataset, 2)
    assert [len(row) for row in rounds] == [2, 1]
    assert len(opened) == 1


@pytest.mark.parametrize("at", [0, 1, 4, 7])
def test_a_saved_iterator_goes_on_where_it_was(at, tmp_path):
    import tensorflow as tf
    from genever.estimators.rounds import in_rounds

    def numbers(iterator):
        return [(b.numpy().tolist(), int(r), int(e)) for b, (r, e) in iterator]

    dataset = in_rounds(tf.data.Dataset.range(23).batch(4), 3)
    iterator = iter(dataset)
    for _ in range(at):
        next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).save(str(tmp_path / "input"))
    rest = numbers(iterator)
    again = iter(dataset)
    tf.train.Checkpoint(iterator=again).restore(path)
    assert numbers(again) == rest == numbers(iter(dataset))[at:]
    assert len(rest) == 3 + 6 - at
