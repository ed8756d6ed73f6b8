"""The words of European languages that a placeholder for code left out is made of: `resto del código sin cambios`."""

from __future__ import annotations

import re
import unicodedata

_WORD = re.compile(r"[^\W\d_]+")
_OTHER = re.compile(r"[^\w\s'’,.]|[\d_]")

# What says that something stays or is left out, and what else such a phrase has.
_LANGUAGES = {
    "es": (
        "resto restante restantes existente existentes igual cambios mismo misma iguales omitido omitida "
        "anterior original demas",
        "el la los las lo de del con sin que codigo metodo metodos funcion funciones implementacion contenido "
        "clase logica archivo cuerpo lineas parte aqui queda quedan sigue siguen permanece permanecen se "
        "mantiene mantienen es esta todo va",
    ),
    "fr": (
        "reste restant restante restants existant existante existants inchange inchangee inchanges changement "
        "modification meme identique omis precedent",
        "le la les l de du des sans aucun aucune code methode methodes fonction fonctions implementation "
        "contenu classe logique fichier corps lignes partie ici est sont demeure tout ne pas change",
    ),
    "de": (
        "rest restlich restliche restlicher restlichen ubrig ubrige ubriger ubrigen bestehend bestehende "
        "bestehender bestehenden vorhandene vorhandener vorhandenen unverandert gleich anderungen wie bisher "
        "ausgelassen",
        "der die das des den dem code methode methoden funktion funktionen implementierung inhalt klasse "
        "logik datei teil zeilen hier bleibt bleiben ist sind ohne keine alles vorher",
    ),
    "pt": (
        "resto restante restantes existente existentes igual alteracoes mudancas mesmo mesma inalterado "
        "inalterada omitido anterior",
        "o a os as do da de dos das com sem que codigo metodo metodos funcao funcoes implementacao conteudo "
        "classe logica arquivo ficheiro corpo linhas parte aqui permanece permanecem continua fica se mantem "
        "e esta tudo",
    ),
    "ru": (
        "остальнои остальная остальное остальные остаток существующии существующая существующие прежнии "
        "изменении неизменным неизмененным прежнему опущено",
        "весь вся все код кода метод методы функция функции реализация содержимое класс логика фаил часть "
        "строки здесь без остается остаются по не меняется",
    ),
}
_SETS = [tuple(frozenset(words.split()) for words in pair) for pair in _LANGUAGES.values()]


def says_so_abroad(phrase: str) -> bool:
    """Whether the phrase is nothing but words of one language for "what was there stays"."""
    plain = "".join(char for char in unicodedata.normalize("NFD", phrase.casefold()) if not unicodedata.combining(char))
    words = {*_WORD.findall(plain)}
    if not words or _OTHER.search(plain):
        return False
    return any(words <= telling | others and not words.isdisjoint(telling) for telling, others in _SETS)
